#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/JSON.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/json.h"
#include "runtime/data/images/open.h"
#include "runtime/data/text/rows.h"
#include "runtime/data/text/token_rows.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/export/formats.h"

namespace expc::cli {
namespace {

namespace fs = std::filesystem;
using base::failure;

constexpr const char* kImages[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                                   "t10k-labels-idx1-ubyte"};
/// Where the reference study says how many tokens a subset has, it has so many rows.
constexpr int64_t kSubset = 500;

struct Column {
  const char* wanted;
  std::vector<const char*> names;  // in downloads
  bool needed = true;
};

/// A set of rows, as downloads call it and as the studies do.
struct RowSet {
  const char* title;
  std::vector<const char*> stems;
  text::Template kind;
  std::vector<Column> columns;
  int64_t most;       // rows that are taken; 0: all
  int64_t published;  // tokens of the subset
  const char* origin;
};

const std::vector<RowSet>& rowSets() {
  static const std::vector<RowSet> kSets = {
      {"alpaca_cleaned",
       {"alpaca_cleaned", "alpaca_data_cleaned"},
       text::Template::Instruct,
       {{"instruction", {"instruction"}}, {"input", {"input"}, false}, {"output", {"output"}}},
       0,
       59'330,
       "https://huggingface.co/datasets/yahma/alpaca-cleaned"},
      {"C4-200M",
       {"c4_200m", "c4-200m", "C4_200M", "grammar"},
       text::Template::Grammar,
       {{"input", {"input", "source"}}, {"output", {"output", "target"}}},
       100'000,
       28'683,
       "https://huggingface.co/datasets/liweili/c4_200m"},
      {"samsum",
       {"samsum", "samsum_train", "samsum-train"},
       text::Template::Summarize,
       {{"dialogue", {"dialogue"}}, {"summary", {"summary"}}},
       0,
       83'544,
       "https://huggingface.co/datasets/knkarthick/samsum"}};
  return kSets;
}

/// What was found, what was made of it and what is missing, line by line.
struct Account {
  std::vector<std::string> done, missing;
};

/// The files of a folder and of those below it, by name: of several the one in the folder itself, else the first. Of
/// each whether it lies below, and its path.
using Downloads = llvm::StringMap<std::pair<bool, std::string>>;

Downloads downloadsIn(const std::string& folder) {
  Downloads files;
  std::error_code failed, unknown;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, failed), end;
       !failed && at != end; at.increment(failed)) {
    if (!at->is_regular_file(unknown)) continue;
    const std::pair place(at.depth() > 0, at->path().string());
    const auto [known, fresh] = files.try_emplace(at->path().filename().string(), place);
    if (!fresh) known->second = std::min(known->second, place);
  }
  return files;
}

llvm::Expected<std::string> digestOf(const std::string& path) {
  return engine::inputs::digestPath(path, [] { return llvm::Error::success(); });
}

/// More than any file that is copied holds, also unpacked.
constexpr int64_t kMostBytes = int64_t{256} << 20;

/// What a file holds, unpacked where it is of gzip (zlib reads both), as MNIST and its kin are handed out.
llvm::Error copy(const std::string& from, const std::string& to) {
  return files::writeBy(to, [&](const std::string& temporary) -> llvm::Error {
    const gzFile in = gzopen(from.c_str(), "rb");
    if (in == nullptr) return files::systemError(from, errno);
    const int out = files::openLog(temporary);
    std::vector<char> piece(1 << 20);
    int64_t bytes = 0;
    int code = out < 0 ? errno : 0, read = 0;
    while (code == 0 && (read = gzread(in, piece.data(), static_cast<unsigned>(piece.size()))) > 0 &&
           (bytes += read) <= kMostBytes)
      code = files::writeAll(out, {piece.data(), static_cast<size_t>(read)});
    int state = Z_OK;
    const std::string why = gzerror(in, &state);
    gzclose(in);
    close(out);
    if (code != 0) return files::systemError(to, code);
    if (bytes > kMostBytes) return failure("{}: holds more than {} MiB", from, kMostBytes >> 20);
    return state == Z_OK || state == Z_STREAM_END ? llvm::Error::success() : failure("{}: {}", from, why);
  });
}

llvm::Error prepareImages(const PrepareOptions& options, const Downloads& downloads, Account& account) {
  const fs::path to = fs::path(options.to) / "mnist";
  std::vector<std::string> sources;
  for (const char* name : kImages) {
    sources.push_back(downloads.lookup(name).second);
    if (sources.back().empty()) sources.back() = downloads.lookup(std::string(name) + ".gz").second;
    if (!sources.back().empty()) continue;
    account.missing.push_back(fmt::format("MNIST: there is no {0} or {0}.gz below {1}", name, options.from));
    return llvm::Error::success();
  }
  fs::create_directories(to);
  for (size_t i = 0; i < sources.size(); ++i)
    if (auto error = copy(sources[i], (to / kImages[i]).string())) return error;
  auto sets = data::open({.kind = data::Place::Kind::Mnist, .path = to.string(), .count = 0});
  if (!sets) return sets.takeError();
  auto digest = digestOf(to.string());
  if (!digest) return digest.takeError();
  account.done.push_back(fmt::format("MNIST: {} training and {} test images, digest {}: {}", sets->train->count(),
                                     sets->test->count(), *digest, to.string()));
  return llvm::Error::success();
}

/// The file of a set, whatever its format; "": there is none.
std::string fileOf(const RowSet& set, const std::string& folder, const Downloads& downloads, Account& account) {
  for (const char* stem : set.stems)
    for (const char* ending : {".json", ".jsonl", ".csv", ".tsv", ".parquet"})
      if (std::string path = downloads.lookup(std::string(stem) + ending).second; !path.empty()) return path;
  account.missing.push_back(fmt::format("{}: there is no {}.json, .jsonl, .csv, .tsv or .parquet below {}; it is at {}",
                                        set.title, set.stems.front(), folder, set.origin));
  return "";
}

/// Lines of two texts with a tab between them, as C4-200M comes. No quotes, no names of columns unless these are ours.
class TabRows {
 public:
  TabRows(llvm::StringRef bytes, std::string name) : rest_(bytes), name_(std::move(name)) {}

  llvm::Expected<bool> next(llvm::json::Object& row) {
    while (!rest_.empty()) {
      auto [line, rest] = rest_.split('\n');
      rest_ = rest;
      ++number_;
      line.consume_back("\r");
      const auto [input, output] = line.split('\t');
      if (line.empty() || (number_ == 1 && input == "input" && output == "output")) continue;
      if (!line.contains('\t') || output.contains('\t'))
        return failure("{}: line {}: not two texts with a tab between them", name_, number_);
      if (!llvm::json::isUTF8(line)) return failure("{}: line {}: not UTF-8", name_, number_);
      row = llvm::json::Object{{"input", input}, {"output", output}};
      return true;
    }
    return false;
  }
  const std::string& place() const { return name_; }

 private:
  llvm::StringRef rest_;
  std::string name_;
  size_t number_ = 0;
};

/// The columns that a study reads, by their names there.
llvm::Expected<llvm::json::Object> renamed(const RowSet& set, const llvm::json::Object& row, const std::string& place) {
  llvm::json::Object result;
  for (const Column& column : set.columns) {
    const llvm::json::Value* value = nullptr;
    for (const char* name : column.names) value = value ? value : row.get(name);
    if (const auto text = value ? value->getAsString() : std::nullopt)
      result[column.wanted] = *text;
    else if (column.needed)
      return failure("{}: there is no text in a column called {}", place, fmt::join(column.names, " or "));
  }
  return result;
}

/// Hands each row of a set to `take` as the studies read it, up to as many as are wanted; how many.
template <typename Rows, typename Take>
llvm::Expected<int64_t> eachRow(const RowSet& set, Rows& rows, Take take) {
  llvm::json::Object row;
  int64_t count = 0;
  while (set.most == 0 || count < set.most) {
    auto more = rows.next(row);
    if (!more) return more.takeError();
    if (!*more) break;
    auto named = renamed(set, row, rows.place());
    if (!named) return named.takeError();
    if (auto error = take(std::move(*named))) return error;
    ++count;
  }
  return count;
}

/// Writes the rows of a set as the studies read them; how many.
llvm::Expected<int64_t> writeRows(const RowSet& set, const std::string& from, const std::string& to) {
  int64_t count = 0;
  auto error = files::writeBy(to, [&](const std::string& temporary) -> llvm::Error {
    std::unique_ptr<llvm::MemoryBuffer> lines;  // of Parquet; they lie for a moment where the rows will
    if (llvm::StringRef(from).ends_with(".parquet")) {
      if (auto error = exports::parquetTexts(from, temporary, set.most)) return error;
      auto bytes = files::map(temporary);
      if (!bytes) return bytes.takeError();
      lines = std::move(*bytes);
      unlink(temporary.c_str());
    }
    const int file = files::openLog(temporary);
    if (file < 0) return files::systemError(temporary, errno);
    const auto take = [&](llvm::json::Object row) -> llvm::Error {
      const int code = files::writeAll(file, base::canonicalJson(std::move(row)) + "\n");
      return code ? files::systemError(to, code) : llvm::Error::success();
    };
    const auto all = [&]() -> llvm::Expected<int64_t> {
      if (llvm::StringRef(from).ends_with(".tsv")) {
        auto bytes = files::map(from);
        if (!bytes) return bytes.takeError();
        TabRows rows((*bytes)->getBuffer(), from);
        return eachRow(set, rows, take);
      }
      if (lines) {
        const auto rows = text::RowReader::parse(lines->getBuffer(), from, text::RowFormat::Json);
        return eachRow(set, *rows, take);
      }
      auto rows = text::RowReader::open(from);
      if (!rows) return rows.takeError();
      return eachRow(set, **rows, take);
    };
    auto written = all();
    close(file);
    if (!written) return written.takeError();
    count = *written;
    return llvm::Error::success();
  });
  if (error) return error;
  return count;
}

/// Tokens of the first rows beside what the reference study has of its subset, and the longest of all.
std::string tokensText(const RowSet& set, const std::string& path, const std::string& tokenizer) {
  if (tokenizer.empty()) return "tokens not counted without a tokenizer";
  text::TokenRowsOptions options;
  options.data = {.path = path, .kind = set.kind, .pairs = false, .row_limit = kSubset};
  options.tokenizer = tokenizer;
  options.vocabulary = kLlama3Vocabulary;
  auto rows = text::TokenRows::open(options);
  if (!rows) return llvm::toString(rows.takeError());
  auto lengths = text::rowLengths(*rows, std::max(1U, std::thread::hardware_concurrency()));
  if (!lengths) return llvm::toString(lengths.takeError());
  return fmt::format("the first {} have {} tokens, the longest {}; the reference study's subset of {} has {}",
                     lengths->count(), lengths->sum(), lengths->longest(), kSubset, set.published);
}

llvm::Error prepareRows(const RowSet& set, const PrepareOptions& options, const Downloads& downloads,
                        const std::string& tokenizer, Account& account) {
  const std::string from = fileOf(set, options.from, downloads, account);
  if (from.empty()) return llvm::Error::success();
  const std::string to = (fs::path(options.to) / "llm" / (std::string(text::nameOf(set.kind)) + ".jsonl")).string();
  auto count = writeRows(set, from, to);
  if (!count) return count.takeError();
  auto digest = digestOf(to);
  if (!digest) return digest.takeError();
  account.done.push_back(fmt::format("{}: {} rows{}, digest {}: {}\n    {}", set.title, *count,
                                     *count == set.most ? ", no more are taken" : "", *digest, to,
                                     tokensText(set, to, tokenizer)));
  return llvm::Error::success();
}

/// The vocabulary of Llama 3, whichever way the model came. Weights are not read: the studies draw them, since they
/// cost the same time, and Meta's shards are pickles, which are programs.
llvm::Expected<std::string> prepareTokenizer(const PrepareOptions& options, const Downloads& downloads,
                                             Account& account) {
  for (const char* name : {"tokenizer.model", "tokenizer.json"}) {
    const std::string from = downloads.lookup(name).second;
    if (from.empty()) continue;
    auto tokenizer = text::Tokenizer::open(from);
    if (!tokenizer) return tokenizer.takeError();
    const std::string to = (fs::path(options.to) / "llm" / "tokenizer.model").string();
    if (auto error = copy(from, to)) return error;
    account.done.push_back(fmt::format("tokenizer: {} tokens, of {}: {}", tokenizer->rows(), from, to));
    return to;
  }
  account.missing.push_back(fmt::format(
      "tokenizer: there is no tokenizer.model or tokenizer.json below {}; it comes with Llama 3", options.from));
  return "";
}

}  // namespace

int prepareData(const PrepareOptions& options, const Console& console) {
  std::error_code code;
  if (!fs::is_directory(options.from, code))
    return console.error(fmt::format("{} is no folder of downloads", options.from));
  fs::create_directories(fs::path(options.to) / "llm", code);
  if (code) return console.error(files::systemError(options.to, code.value()));
  Account account;
  const Downloads downloads = downloadsIn(options.from);
  if (auto error = prepareImages(options, downloads, account)) return console.error(std::move(error));
  auto tokenizer = prepareTokenizer(options, downloads, account);
  if (!tokenizer) return console.error(tokenizer.takeError());
  for (const RowSet& set : rowSets())
    if (auto error = prepareRows(set, options, downloads, *tokenizer, account)) return console.error(std::move(error));
  for (const char* size : {"300", "500"})
    if (const std::string folder = (fs::path(options.to) / ("mnist_" + std::string(size))).string();
        !fs::is_directory(folder, code))
      account.missing.push_back(fmt::format(
          "colour images of {0} px: expc data make shapes --size {0}px --count 60000 --to {1}", size, folder));
  std::string text;
  for (const std::string& line : account.done) text += line + "\n";
  for (const std::string& line : account.missing) text += "missing: " + line + "\n";
  return console.finish(text, account.missing.empty() ? kSuccess : kError);
}

}  // namespace expc::cli
