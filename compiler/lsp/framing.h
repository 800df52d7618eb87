#pragma once

#include <llvm/Support/JSON.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace expc::lsp {

/// Larger messages are skipped: a study has at most 1 MiB, which JSON may make six times as long.
constexpr size_t kMaxBody = 16u << 20;
constexpr size_t kMaxHeader = 8192;

/// Cuts a stream of bytes into messages: `Content-Length: N`, an empty line, N bytes. What is no message is reported
/// once and skipped, up to the next header.
class Deframer {
 public:
  struct Item {
    std::string body;
    std::string error;  // not empty: what was skipped and why; no body
  };

  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// The next message or error; nothing until more bytes come.
  std::optional<Item> next();

 private:
  std::optional<Item> header();
  std::optional<Item> lost(std::string why);

  std::string buffer_;
  size_t searched_ = 0;           // bytes of the buffer that hold no end of a header
  size_t skip_ = 0;               // bytes of a body that is too large
  std::optional<size_t> length_;  // of the body that is awaited
  bool resync_ = false;           // looking for a header
};

/// A message as it goes over the wire.
std::string frame(const llvm::json::Value& message);

}  // namespace expc::lsp
