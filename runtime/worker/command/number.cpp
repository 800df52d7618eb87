#include <fmt/format.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>

#include <charconv>
#include <cmath>

#include "runtime/worker/command/excerpt.h"
#include "runtime/worker/command/readers.h"

namespace expc::command {

llvm::Expected<double> readNumber(llvm::StringRef text) {
  llvm::StringRef digits = text.trim();
  digits.consume_front("+");
  double value = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
  if (digits.empty() || end != digits.end() || error == std::errc::invalid_argument)
    return llvm::createStringError(fmt::format("'{}' is no number", excerpt(text)));
  if (error == std::errc::result_out_of_range)
    return llvm::createStringError(fmt::format("'{}' is too large or too small for a number", excerpt(text)));
  if (!std::isfinite(value)) return llvm::createStringError(fmt::format("'{}' is not finite", excerpt(text)));
  return value;
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(const std::string& path, uint64_t most) {
  llvm::sys::fs::file_status status;
  std::error_code error = llvm::sys::fs::status(path, status);
  if (error == std::errc::no_such_file_or_directory) return llvm::createStringError("the program did not write it");
  if (error) return llvm::createStringError(fmt::format("it cannot be read: {}", error.message()));
  if (status.type() != llvm::sys::fs::file_type::regular_file)  // a pipe would never end
    return llvm::createStringError("it is no regular file");
  if (status.getSize() > most)
    return llvm::createStringError(
        fmt::format("it has {} MiB, at most {} MiB are read", status.getSize() >> 20, most >> 20));
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) return llvm::createStringError(fmt::format("it cannot be read: {}", buffer.getError().message()));
  return std::move(*buffer);
}

}  // namespace expc::command
