#include "compiler/lsp/framing.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

namespace expc::lsp {
namespace {

constexpr llvm::StringLiteral kField = "content-length:";

/// The length that a header states; nothing if it states none.
std::optional<size_t> lengthIn(llvm::StringRef header, bool& malformed) {
  std::optional<size_t> length;
  llvm::SmallVector<llvm::StringRef, 4> lines;
  header.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    if (!line.starts_with_insensitive(kField)) continue;
    const llvm::StringRef value = line.drop_front(kField.size()).trim();
    unsigned long long number = 0;
    const bool digits = !value.empty() && value.find_if_not(llvm::isDigit) == llvm::StringRef::npos;
    if (!digits || value.getAsInteger(10, number) || length) malformed = true;
    length = static_cast<size_t>(number);
  }
  return length;
}

}  // namespace

std::optional<Deframer::Item> Deframer::lost(std::string why) { return Item{"", std::move(why)}; }

std::optional<Deframer::Item> Deframer::header() {
  if (resync_) {
    const size_t at = llvm::StringRef(buffer_).find_insensitive(kField);
    if (at == llvm::StringRef::npos) {
      // The end might be the beginning of the field.
      if (buffer_.size() > kField.size()) buffer_.erase(0, buffer_.size() - kField.size());
      return std::nullopt;
    }
    buffer_.erase(0, at);
    resync_ = false;
    searched_ = 0;
  }
  const size_t end = buffer_.find("\r\n\r\n", searched_);
  if (end == std::string::npos || end > kMaxHeader) {
    if (end == std::string::npos && buffer_.size() <= kMaxHeader) {
      searched_ = buffer_.size() < 3 ? 0 : buffer_.size() - 3;
      return std::nullopt;
    }
    buffer_.erase(0, kMaxHeader);
    searched_ = 0;
    resync_ = true;
    return lost(fmt::format("a header of more than {} bytes", kMaxHeader));
  }
  bool malformed = false;
  const std::optional<size_t> length = lengthIn(llvm::StringRef(buffer_).take_front(end), malformed);
  buffer_.erase(0, end + 4);
  searched_ = 0;
  if (!length || malformed) {
    resync_ = true;
    return lost("a header without a Content-Length that is a number");
  }
  if (*length > kMaxBody) {
    skip_ = *length;
    return lost(fmt::format("a message of {} bytes; {} is the most", *length, kMaxBody));
  }
  length_ = length;
  return std::nullopt;
}

std::optional<Deframer::Item> Deframer::next() {
  if (skip_ > 0) {
    const size_t now = std::min(skip_, buffer_.size());
    buffer_.erase(0, now);
    skip_ -= now;
    if (skip_ > 0) return std::nullopt;
  }
  if (!length_) {
    std::optional<Item> error = header();
    if (error || !length_) return error;
  }
  if (buffer_.size() < *length_) return std::nullopt;
  Item item{buffer_.substr(0, *length_), ""};
  buffer_.erase(0, *length_);
  length_.reset();
  return item;
}

std::string frame(const llvm::json::Value& message) {
  std::string body;
  llvm::raw_string_ostream out(body);
  out << message;
  return fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
}

}  // namespace expc::lsp
