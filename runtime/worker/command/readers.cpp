#include "runtime/worker/command/readers.h"

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/files/csv.h"
#include "runtime/files/files.h"

namespace expc::command {
namespace {

/// "step, loss, …", for the message.
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < 12; ++i) text += (i ? ", " : "") + excerpt(names[i], 40);
  return names.size() > 12 ? text + ", …" : text;
}

llvm::Expected<size_t> placeOf(const std::string& column, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), column);
  if (found == names.end()) return failure("it has no column '{}'; its first row has {}", column, listed(names));
  if (std::find(std::next(found), names.end(), column) != names.end())
    return failure("it has two columns '{}'", column);
  return size_t(found - names.begin());
}

}  // namespace

llvm::Expected<double> readNumber(llvm::StringRef text) {
  llvm::StringRef digits = text.trim();
  digits.consume_front("+");
  double value = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
  if (digits.empty() || end != digits.end() || error == std::errc::invalid_argument)
    return failure("'{}' is no number", excerpt(text));
  if (error == std::errc::result_out_of_range)
    return failure("'{}' is too large or too small for a number", excerpt(text));
  if (!std::isfinite(value)) return failure("'{}' is not finite", excerpt(text));
  return value;
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(const std::string& path, uint64_t most) {
  auto buffer = files::map(path, most);
  if (buffer) return buffer;
  const std::error_code code = llvm::errorToErrorCode(buffer.takeError());
  if (code == std::errc::no_such_file_or_directory) return failure("the program did not write it");
  if (code == std::errc::invalid_argument) return failure("it is no regular file");
  if (code == std::errc::file_too_large) return failure("it is too large: at most {} MiB are read", most >> 20);
  return failure("it cannot be read: {}", code.message());
}

llvm::Expected<Values> readLines(llvm::StringRef text, Which which) {
  llvm::StringRef last;
  Values values;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    if (line.trim().empty()) continue;
    last = line;
    if (which == Which::Last) continue;
    auto value = readNumber(line);
    if (!value) return value.takeError();
    if (values.size() == kMostValues) return failure("it has more than a million numbers");
    values.push_back(*value);
  }
  if (last.empty()) return failure("nothing was written");
  if (which == Which::All) return values;
  auto value = readNumber(last);
  if (!value) return llvm::createStringError("its last line: " + llvm::toString(value.takeError()));
  return Values{*value};
}

llvm::Expected<double> readSize(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto fail = [&] { return failure("it cannot be read: {}", error.message()); };
  if (!fs::exists(path, error)) return failure("the program did not write it");
  uint64_t bytes = 0;
  if (!fs::is_directory(path, error)) {
    bytes = fs::file_size(path, error);
    if (error) return fail();
    return static_cast<double>(bytes);
  }
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    if (it->is_regular_file(error) && !it->is_symlink(error)) bytes += it->file_size(error);
  if (error) return fail();
  return static_cast<double>(bytes);
}

llvm::Error compareFiles(const std::string& path, const std::string& wanted, uint64_t most) {
  auto found = readFile(path, most);
  if (!found) return found.takeError();
  auto other = readFile(wanted, most);
  if (!other) return llvm::createStringError("what it is compared with: " + llvm::toString(other.takeError()));
  const llvm::StringRef left = (*found)->getBuffer(), right = (*other)->getBuffer();
  if (left == right) return llvm::Error::success();
  const auto at = std::mismatch(left.begin(), left.end(), right.begin(), right.end()).first;
  return failure("it differs from line {} on ({} bytes, {} wanted)", 1 + std::count(left.begin(), at, '\n'),
                 left.size(), right.size());
}

llvm::Expected<Values> readColumn(llvm::StringRef text, const std::string& column, Which which) {
  files::CsvRows rows(text, files::CsvRows::Blanks::Dropped);
  std::vector<std::string> names, cells;
  std::optional<size_t> place;
  std::vector<std::pair<size_t, std::string>> found;  // with their rows
  for (size_t row = 1;; ++row) {
    auto more = rows.next(row == 1 ? names : cells);
    if (!more) return failure("row {}: {}", row, llvm::toString(more.takeError()));
    if (!*more && row == 1) return failure("it is empty");
    if (!*more) break;
    if (row == 1) {
      auto at = placeOf(column, names);
      if (!at) return at.takeError();
      place = *at;
      continue;
    }
    if (cells.size() != names.size())
      return failure("row {} has {} cells, the first row has {}", row, cells.size(), names.size());
    if (llvm::StringRef(cells[*place]).trim().empty()) continue;
    if (which == Which::Last) found.clear();
    found.emplace_back(row, std::move(cells[*place]));
    if (found.size() > kMostValues) return failure("the column '{}' has more than a million values", column);
  }
  if (found.empty()) return failure("the column '{}' has no value", column);
  Values values;
  for (const auto& [row, digits] : found) {
    auto value = readNumber(digits);
    if (!value) return failure("row {} of the column '{}': {}", row, column, llvm::toString(value.takeError()));
    values.push_back(*value);
  }
  return values;
}

std::string excerpt(llvm::StringRef text, size_t most) {
  std::string result = text.take_front(most).str();
  std::replace_if(result.begin(), result.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  if (!llvm::json::isUTF8(result)) result = llvm::json::fixUTF8(result);
  return text.size() > most ? result + "..." : result;
}

std::string lastLine(llvm::StringRef text) {
  const llvm::StringRef trimmed = text.rtrim();
  const size_t begin = trimmed.find_last_of("\r\n");
  return excerpt(begin == llvm::StringRef::npos ? trimmed : trimmed.drop_front(begin + 1), 200);
}

}  // namespace expc::command
