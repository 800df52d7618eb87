// Answers for estimates that depend on files: the sizes in a model's config.json, and how many tokens the rows of a
// data set have. The formulas of the standard library call functions by name (`config`, `row_tokens`); this file maps
// these to the readers that the worker uses, so that an estimate and a run cannot disagree about a file. Answers are
// cached by the text of their arguments, since points in the thousands ask the same. An unknown answer is no error: a
// plan without the estimate is still a plan, and a note says what is missing.

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <memory>
#include <optional>

#include "cli/compilation.h"
#include "cli/study_rows.h"
#include "compiler/check/value/value.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/parallel.h"
#include "runtime/data/images/open.h"
#include "runtime/data/model/llama.h"
#include "runtime/data/text/token_rows.h"

namespace expc::cli {
namespace {

using check::EnumValue;
using check::Rational;
using check::Value;

std::string nameOf(const EnumValue& level) { return level.type->levels[level.level].name; }

/// Returns the number as a whole one; 0 if it is not whole.
int64_t wholeOf(const Value& value) {
  const Rational& number = *value.asNumber();
  return number.isInteger() ? number.numerator() : 0;
}

/// The answers for one study, with a cache of every file that was read.
class Files {
 public:
  Files(const std::string& study, std::vector<std::string>& notes, uint64_t byte_limit)
      : root_(llvm::sys::path::parent_path(study)), notes_(notes), byte_limit_(byte_limit) {}

  /// Answers a formula's question; nothing if it cannot be known, or is none of ours.
  std::optional<Rational> ask(std::string_view function, std::span<const Value> arguments) {
    if (function == "config") return config(arguments[0], text(arguments[1]));
    if (function == "images") return images(arguments[0]);
    if (function == "row_tokens") return rowTokens(arguments);
    return std::nullopt;
  }

 private:
  static const std::string& text(const Value& value) { return std::get<std::string>(value.node); }

  std::string whole(const std::string& path) const {
    llvm::SmallString<256> result(llvm::sys::path::is_absolute(path) ? "" : root_);
    llvm::sys::path::append(result, path);
    return std::string(result);
  }

  /// Returns the file or folder that a value names: a path, or a level that holds one; "" if it names none.
  std::string pathIn(const Value& value) const {
    const Value* named = &value;
    if (const auto* level = std::get_if<EnumValue>(&value.node)) {
      if (level->payload.size() != 1) return "";
      named = &level->payload[0];
    }
    const auto* path = std::get_if<std::string>(&named->node);
    return path ? whole(*path) : "";
  }

  /// Returns how many images a source has; nothing if they are not there.
  std::optional<Rational> images(const Value& data) {
    using enum data::Source::Kind;
    const auto* level = std::get_if<EnumValue>(&data.node);
    const std::string path = pathIn(data);
    if (!level || level->payload.size() != 1 || (!path.empty() && !llvm::sys::fs::exists(path))) return std::nullopt;
    data::Source source{Mnist, path, path.empty() ? wholeOf(level->payload[0]) : 0};
    for (const auto& [name, kind] : {std::pair("folder", Folder), {"packed", Packed}, {"synthetic", Synthetic}})
      if (nameOf(*level) == name) source.kind = kind;
    const auto [at, fresh] = images_.try_emplace(data.toString());
    if (fresh)
      if (const auto sets = expectedToOptional(data::open(source)))
        at->second = Rational(sets->train->count() + sets->test->count());
    return at->second;
  }

  /// Returns a size from a model's config.json ("hidden_size"); flags are 0 and 1.
  std::optional<Rational> config(const Value& model, const std::string& name) {
    const json::Value* value = sizesOf(model).get(name);
    if (!value) return std::nullopt;
    if (const auto flag = value->getAsBoolean()) return Rational(*flag ? 1 : 0);
    const auto number = value->getAsInteger();
    return number ? std::optional(Rational(*number)) : std::nullopt;
  }

  /// Returns a model's sizes under the names of config.json, with the defaults of omitted ones; empty if nothing is
  /// known.
  const json::Object& sizesOf(const Value& model) {
    const auto [at, fresh] = sizes_.try_emplace(model.toString());
    if (!fresh) return at->second;
    std::optional<llama::Config> config;
    if (const std::string folder = pathIn(model); !folder.empty()) {
      if (auto read = llama::readConfig(folder))
        config = std::move(*read);
      else
        note(fmt::format("the memory that {} needs is unknown: {}. To estimate with a known model: -D model=llama3_8b",
                         model.toString(), toString(read.takeError())));
    } else if (const auto* level = std::get_if<EnumValue>(&model.node)) {
      config = llama::namedConfig(nameOf(*level));
    }
    if (config) at->second = llama::configToJson(*config, "");
    return at->second;
  }

  /// Returns the length of the longest row or of the median one, or the most learnt tokens in a batch. Arguments:
  /// "longest", kMedianRow or "learnt", rows of a batch, then the arguments of lengthsOf.
  std::optional<Rational> rowTokens(std::span<const Value> arguments) {
    const std::optional<text::RowLengths>& lengths = lengthsOf(arguments.subspan(2));
    if (!lengths || lengths->count() == 0) return std::nullopt;
    if (text(arguments[0]) == "longest") return Rational(lengths->longest());
    if (text(arguments[0]) == kMedianRow) return Rational(lengths->usual());
    if (text(arguments[0]) == "learnt") return Rational(lengths->mostLearnt(wholeOf(arguments[1])));
    return std::nullopt;
  }

  /// Returns the lengths of all rows, in tokens. Arguments: the most tokens of a row, data, template, row limit,
  /// tokenizer, model, and whether rows are pairs.
  const std::optional<text::RowLengths>& lengthsOf(std::span<const Value> arguments) {
    std::vector<std::string> key;
    for (const Value& argument : arguments) key.push_back(argument.toString());
    // The entry stays empty on every return below: what could not be read once is not read again, and its note stands
    // once.
    const auto [at, fresh] = lengths_.try_emplace(llvm::join(key, "\n"));
    if (!fresh) return at->second;
    const auto* data = std::get_if<EnumValue>(&arguments[1].node);
    const auto* kind = std::get_if<EnumValue>(&arguments[2].node);
    const auto shape = kind ? text::templateNamed(nameOf(*kind)) : std::nullopt;
    const auto vocabulary = sizesOf(arguments[5]).getInteger("vocab_size");
    if (!data || !shape || !vocabulary) return at->second;
    text::TokenRowsOptions options;
    options.data = {.path = pathIn(arguments[1]),
                    .kind = *shape,
                    .pairs = arguments[6].asBool(),
                    .row_limit = wholeOf(arguments[3]),
                    .byte_limit = byte_limit_};
    // A level without a path but with a number is synthetic data of that many rows.
    if (options.data.path.empty() && data->payload.size() == 1) options.synthetic = wholeOf(data->payload[0]);
    options.tokenizer = pathIn(arguments[4]);
    options.model_folder = pathIn(arguments[5]);
    options.vocabulary = *vocabulary;
    options.max_length = wholeOf(arguments[0]);
    // Missing data is common when planning for another machine, so it gets a note of its own before anything is opened.
    if (const std::string& path = options.data.path; !path.empty() && !llvm::sys::fs::exists(path))
      note(fmt::format("no memory estimate for points that read {}, which is missing", path));
    else
      at->second = measured(options);
    // Without a tokenizer each byte is a token. With a large vocabulary that is hardly meant, and the estimate would be
    // several times too high.
    if (!options.data.path.empty() && options.tokenizer.empty() && options.model_folder.empty() &&
        options.vocabulary >= kLlama3Vocabulary)
      note(
          fmt::format("no tokenizer is named, so each byte of {} counts as a token of a model that has {}. For real "
                      "row lengths: -D 'tokenizer=file(\"tokenizer.model\")'",
                      options.data.path, options.vocabulary));
    return at->second;
  }

  /// Tokenizes all rows on all cores to count them; nothing after a note.
  std::optional<text::RowLengths> measured(const text::TokenRowsOptions& options) {
    const auto drop = [&](Error error) {
      note(fmt::format("no memory estimate for points whose rows cannot be read: {}", toString(std::move(error))));
      return std::nullopt;
    };
    auto rows = text::TokenRows::open(options);
    if (!rows) return drop(rows.takeError());
    auto lengths = text::rowLengths(*rows, base::allCores());
    if (!lengths) return drop(lengths.takeError());
    if (rows->inPart())
      note(
          fmt::format("memory of trials that read {} is estimated by its first {} rows ({} MiB): a longer row after "
                      "them needs more",
                      rows->origin(), rows->count(), byte_limit_ >> 20));
    const int64_t longest = lengths->longest(), usual = lengths->usual();
    if (options.data.pairs && 4 * longest > 5 * usual)
      note(
          fmt::format("memory of trials that read pairs of {} is estimated for the longest of {} ({} tokens; the "
                      "median has {}): a trial without that pair needs less",
                      rows->origin(), lengths->count(), longest, usual));
    return std::move(*lengths);
  }

  /// Adds a note once: rows of several templates may lie in one folder and fail for the same reason.
  void note(std::string text) { base::addOnce(notes_, std::move(text)); }

  std::string root_;
  /// Caches by the text of the arguments; StringMap keeps references valid while it grows.
  llvm::StringMap<json::Object> sizes_;
  llvm::StringMap<std::optional<text::RowLengths>> lengths_;
  llvm::StringMap<std::optional<Rational>> images_;
  std::vector<std::string>& notes_;
  const uint64_t byte_limit_;
};

}  // namespace

check::Lookup fileLookups(const std::string& study, std::vector<std::string>& notes, uint64_t byte_limit) {
  return [files = std::make_shared<Files>(study, notes, byte_limit)](std::string_view function,
                                                                     std::span<const check::Value> arguments) {
    return files->ask(function, arguments);
  };
}

}  // namespace expc::cli
