#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "runtime/files/files.h"
#include "runtime/worker/command/excerpt.h"
#include "runtime/worker/command/readers.h"

namespace expc::command {

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

}  // namespace expc::command
