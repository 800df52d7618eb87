// `expc data prepare reference`: puts downloads into the folders and forms that the studies of the reference name. It
// finds MNIST, three text sets and a tokenizer by the names under which they are handed out, in any of a few formats,
// copies or converts them, and checks each by opening it as a worker would. A missing download is no error but listed,
// with where to get it; only damage ends the command.

#include <fmt/ranges.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/JSON.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/parallel.h"
#include "runtime/data/images/open.h"
#include "runtime/data/text/rows.h"
#include "runtime/data/text/token_rows.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/export/formats.h"

namespace expc::cli {

using json::Object;
namespace {

namespace fs = std::filesystem;

constexpr const char* kImages[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                                   "t10k-labels-idx1-ubyte"};
/// The rows of the subset for which the reference study publishes a number of tokens.
constexpr int64_t kSubset = 500;

/// A column that a study reads, and its names in downloads; an optional one may be missing from a row.
struct Column {
  const char* wanted;
  std::vector<const char*> names;
  bool needed = true;
};

/// A set of texts: how downloads name it, and which template the studies read it with.
struct RowSet {
  /// Name for messages, and the stems of its files without endings.
  const char* title;
  std::vector<const char*> stems;
  text::Template kind;
  std::vector<Column> columns;
  /// Rows to take; 0 takes all. C4-200M has 185 million, far more than the studies read.
  int64_t most;
  /// Tokens that the reference study counts in the subset of kSubset rows, shown beside our own count.
  int64_t published;
  /// Where to download it.
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

/// The lines that the command prints: what was made, and what is missing.
struct Account {
  std::vector<std::string> done, missing;
};

/// The files below a folder, by name: whether the file lies in a subfolder, and its path. Of several files with one
/// name the one in the folder itself counts, else the first by path, so that the choice does not depend on the order of
/// a directory.
using Downloads = llvm::StringMap<std::pair<bool, std::string>>;

/// Lists the files below `folder`; unreadable subfolders are skipped.
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

/// Returns the digest that a run of a study would record for the path.
Expected<std::string> digestOf(const std::string& path) {
  return engine::inputs::digestPath(path, [] { return Error::success(); });
}

/// The limit of an unpacked file, above any file that is copied here: a small gzip file can unpack to terabytes.
constexpr int64_t kMostBytes = int64_t{256} << 20;

/// Copies a file, unpacked if it is gzip, as MNIST is handed out (zlib reads both). The target appears whole or not at
/// all.
Error copy(const std::string& from, const std::string& to) {
  return files::writeBy(to, [&](const std::string& temporary) -> Error {
    const gzFile in = gzopen(from.c_str(), "rb");
    if (in == nullptr) return files::systemError(from, errno);
    const int out = files::openLog(temporary);
    std::vector<char> piece(1 << 20);
    int64_t bytes = 0;
    int code = out < 0 ? errno : 0, read = 0;
    while (code == 0 && (read = gzread(in, piece.data(), unsigned(piece.size()))) > 0 && (bytes += read) <= kMostBytes)
      code = files::writeAll(out, {piece.data(), size_t(read)});
    int state = Z_OK;
    const std::string why = gzerror(in, &state);
    gzclose(in);
    close(out);
    if (code != 0) return files::systemError(to, code);
    if (bytes > kMostBytes) return failure("{}: has more than {} MiB", from, kMostBytes >> 20);
    return state == Z_OK || state == Z_STREAM_END ? Error::success() : failure("{}: {}", from, why);
  });
}

/// Copies MNIST and opens the result as a worker would. All four files are looked for before any is copied.
Error prepareImages(const PrepareOptions& options, const Downloads& downloads, Account& account) {
  const fs::path to = fs::path(options.to) / "mnist";
  std::vector<std::string> sources;
  for (const char* name : kImages) {
    sources.push_back(downloads.lookup(name).second);
    if (sources.back().empty()) sources.back() = downloads.lookup(std::string(name) + ".gz").second;
    if (!sources.back().empty()) continue;
    account.missing.push_back(fmt::format("MNIST: no {0} or {0}.gz in {1}", name, options.from));
    return Error::success();
  }
  fs::create_directories(to);
  for (size_t i = 0; i < sources.size(); ++i) TRY(copy(sources[i], (to / kImages[i]).string()));
  auto sets = TRY(data::open({.kind = data::Source::Kind::Mnist, .path = to.string(), .count = 0}));
  auto digest = TRY(digestOf(to.string()));
  account.done.push_back(fmt::format("MNIST: {} training and {} test images, digest {}: {}", sets.train->count(),
                                     sets.test->count(), digest, to.string()));
  return Error::success();
}

/// Returns the path of a set's download in any of its formats; "" if there is none, which is noted as missing.
std::string fileOf(const RowSet& set, const std::string& folder, const Downloads& downloads, Account& account) {
  // Names before formats: a file under the set's first name is preferred in whatever format it has.
  for (const char* stem : set.stems)
    for (const char* ending : {".json", ".jsonl", ".csv", ".tsv", ".parquet"})
      if (std::string path = downloads.lookup(std::string(stem) + ending).second; !path.empty()) return path;
  account.missing.push_back(fmt::format("{}: no {}.json, .jsonl, .csv, .tsv or .parquet in {}; download it from {}",
                                        set.title, set.stems.front(), folder, set.origin));
  return "";
}

/// Reads lines of two texts with a tab between them, the form of C4-200M: no quotes, and no header except one that
/// names our own columns. Has the interface of text::RowReader, so that eachRow() takes both.
class TabRows {
 public:
  TabRows(StringRef bytes, std::string name) : rest_(bytes), name_(std::move(name)) {}

  Expected<bool> next(Object& row) {
    while (!rest_.empty()) {
      auto [line, rest] = rest_.split('\n');
      rest_ = rest;
      ++number_;
      line.consume_back("\r");
      const auto [input, output] = line.split('\t');
      // An empty line separates nothing, and a header of our own names is no row.
      if (line.empty() || (number_ == 1 && input == "input" && output == "output")) continue;
      if (!line.contains('\t') || output.contains('\t'))
        return failure("{}: line {}: not two texts with a tab between them", name_, number_);
      if (!json::isUTF8(line)) return failure("{}: line {}: not UTF-8", name_, number_);
      row = Object{{"input", input}, {"output", output}};
      return true;
    }
    return false;
  }
  const std::string& place() const { return name_; }

 private:
  StringRef rest_;
  std::string name_;
  size_t number_ = 0;
};

/// Returns the row under the names of columns that the studies read.
Expected<Object> renamed(const RowSet& set, const Object& row, const std::string& place) {
  Object result;
  for (const Column& column : set.columns) {
    const json::Value* value = nullptr;
    // The first name that the row has, in the order of the list.
    for (const char* name : column.names) value = value ? value : row.get(name);
    if (const auto text = value ? value->getAsString() : std::nullopt)
      result[column.wanted] = *text;
    else if (column.needed)
      return failure("{}: no text in a column called {}", place, fmt::join(column.names, " or "));
  }
  return result;
}

/// Passes each row, renamed, to `take`, up to as many as the set wants. Returns their number.
template <typename Rows, typename Take>
Expected<int64_t> eachRow(const RowSet& set, Rows& rows, Take take) {
  Object row;
  int64_t count = 0;
  while (set.most == 0 || count < set.most) {
    auto more = TRY(rows.next(row));
    if (!more) break;
    auto named = TRY(renamed(set, row, rows.place()));
    TRY(take(std::move(named)));
    ++count;
  }
  return count;
}

/// Writes the rows of a set as JSON lines, the form that the studies read. Returns their number.
Expected<int64_t> writeRows(const RowSet& set, const std::string& from, const std::string& to) {
  int64_t count = 0;
  auto error = files::writeBy(to, [&](const std::string& temporary) -> Error {
    // Parquet is read by Python (runtime/export), which writes JSON lines to the temporary file. They are mapped and
    // the file unlinked, so that its name is free for the rows.
    std::unique_ptr<llvm::MemoryBuffer> lines;
    if (StringRef(from).ends_with(".parquet")) {
      TRY(exports::parquetTexts(from, temporary, set.most));
      lines = TRY(files::map(temporary));
      unlink(temporary.c_str());
    }
    const int file = files::openLog(temporary);
    if (file < 0) return files::systemError(temporary, errno);
    const auto take = [&](Object row) -> Error {
      const int code = files::writeAll(file, canonicalJson(std::move(row)) + "\n");
      return code ? files::systemError(to, code) : Error::success();
    };
    const auto all = [&]() -> Expected<int64_t> {
      if (StringRef(from).ends_with(".tsv")) {
        auto bytes = TRY(files::map(from));
        TabRows rows(bytes->getBuffer(), from);
        return eachRow(set, rows, take);
      }
      if (lines) {
        const auto rows = text::RowReader::parse(lines->getBuffer(), from, text::RowFormat::Json);
        return eachRow(set, *rows, take);
      }
      auto rows = TRY(text::RowReader::open(from));
      return eachRow(set, *rows, take);
    };
    auto written = all();
    close(file);
    if (!written) return written.takeError();
    count = *written;
    return Error::success();
  });
  if (error) return error;
  return count;
}

/// Returns a line with the tokens of the first kSubset rows beside the number that the reference study publishes, and
/// the longest row. A failure is said in that line: the rows are written all the same.
std::string tokensText(const RowSet& set, const std::string& path, const std::string& tokenizer) {
  if (tokenizer.empty()) return "tokens not counted without a tokenizer";
  text::TokenRowsOptions options;
  options.data = {.path = path, .kind = set.kind, .pairs = false, .row_limit = kSubset};
  options.tokenizer = tokenizer;
  options.vocabulary = kLlama3Vocabulary;
  auto rows = text::TokenRows::open(options);
  if (!rows) return toString(rows.takeError());
  auto lengths = text::rowLengths(*rows, base::allCores());
  if (!lengths) return toString(lengths.takeError());
  return fmt::format("the first {} have {} tokens, the longest {}; the reference study's subset of {} has {}",
                     lengths->count(), lengths->sum(), lengths->longest(), kSubset, set.published);
}

/// Converts one set, with its digest and tokens for the account.
Error prepareRows(const RowSet& set, const PrepareOptions& options, const Downloads& downloads,
                  const std::string& tokenizer, Account& account) {
  const std::string from = fileOf(set, options.from, downloads, account);
  if (from.empty()) return Error::success();
  const std::string to = (fs::path(options.to) / "llm" / (std::string(text::nameOf(set.kind)) + ".jsonl")).string();
  auto count = TRY(writeRows(set, from, to));
  auto digest = TRY(digestOf(to));
  account.done.push_back(fmt::format("{}: {} rows{}, digest {}: {}\n    {}", set.title, count,
                                     count == set.most ? " (the maximum)" : "", digest, to,
                                     tokensText(set, to, tokenizer)));
  return Error::success();
}

/// Copies the vocabulary of Llama 3 in either of its forms, and returns its path, or "" if it is missing. Weights are
/// not read: the studies draw them at random, which takes the same time, and Meta's shards are pickles, which are
/// programs.
Expected<std::string> prepareTokenizer(const PrepareOptions& options, const Downloads& downloads, Account& account) {
  for (const char* name : {"tokenizer.model", "tokenizer.json"}) {
    const std::string from = downloads.lookup(name).second;
    if (from.empty()) continue;
    auto tokenizer = TRY(text::Tokenizer::open(from));
    const std::string to = (fs::path(options.to) / "llm" / "tokenizer.model").string();
    TRY(copy(from, to));
    account.done.push_back(fmt::format("tokenizer: {} tokens, of {}: {}", tokenizer.rows(), from, to));
    return to;
  }
  account.missing.push_back(
      fmt::format("tokenizer: no tokenizer.model or tokenizer.json in {}; it comes with Llama 3", options.from));
  return "";
}

}  // namespace

Exit prepareData(const PrepareOptions& options, const Console& console) {
  std::error_code code;
  if (!fs::is_directory(options.from, code)) return failure("{} is not a folder of downloads", options.from);
  fs::create_directories(fs::path(options.to) / "llm", code);
  if (code) return files::systemError(options.to, code.value());
  // Everything is tried, so that one run tells all that is missing.
  Account account;
  const Downloads downloads = downloadsIn(options.from);
  TRY(prepareImages(options, downloads, account));
  auto tokenizer = TRY(prepareTokenizer(options, downloads, account));
  for (const RowSet& set : rowSets()) TRY(prepareRows(set, options, downloads, tokenizer, account));
  // Colour images are not downloaded but drawn, which takes a while: only say how.
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
