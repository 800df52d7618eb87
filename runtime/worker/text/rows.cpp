#include "runtime/worker/text/rows.h"

#include <fmt/format.h>
#include <llvm/Support/Path.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "runtime/worker/text/files.h"

namespace expc::text {

llvm::Expected<std::unique_ptr<RowReader>> RowReader::open(const std::string& path) {
  const llvm::StringRef ending = llvm::sys::path::extension(path);
  const bool csv = ending.equals_insensitive(".csv");
  if (!csv && !ending.equals_insensitive(".json") && !ending.equals_insensitive(".jsonl"))
    return failure("{}: rows are read from .json, .jsonl and .csv; convert the file, or give it its ending", path);
  auto buffer = openFile(path, std::numeric_limits<uint64_t>::max(), "data is a file of rows: .json, .jsonl or .csv");
  if (!buffer) return buffer.takeError();
  auto reader = parse((*buffer)->getBuffer(), path, csv ? RowFormat::Csv : RowFormat::Json);
  reader->keep_ = std::shared_ptr<llvm::MemoryBuffer>(std::move(*buffer));
  return reader;
}

std::unique_ptr<RowReader> RowReader::parse(llvm::StringRef bytes, const std::string& name, RowFormat format) {
  bytes.consume_front("\xef\xbb\xbf");  // what Windows puts first
  return format == RowFormat::Csv ? makeCsvRows(bytes, name) : makeJsonRows(bytes, name);
}

llvm::Expected<bool> RowReader::next(llvm::json::Object& row) {
  ++number_;
  auto more = read(row);
  if (!more) return failure("{}: {}", place(), llvm::toString(more.takeError()));
  return *more;
}

std::string RowReader::place() const { return fmt::format("{}: row {}", name_, number_); }

}  // namespace expc::text
