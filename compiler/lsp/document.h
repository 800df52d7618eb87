#pragma once

#include <cstdint>
#include <string>

#include "compiler/lsp/position.h"

namespace expc::lsp {

/// A file as the editor has it.
class Document {
 public:
  Document(std::string uri, std::string path, int64_t version, std::string text);
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  const std::string& uri() const { return uri_; }    // as the client writes it
  const std::string& path() const { return path_; }  // what other files import it by
  int64_t version() const { return version_; }
  const std::string& text() const { return text_; }
  const LineIndex& lines() const { return lines_; }

  void setVersion(int64_t version) { version_ = version; }
  void replaceAll(std::string text);
  /// Replaces what stands between two places; where they are in the wrong order, nothing is removed.
  void replace(Position begin, Position end, std::string_view text, Encoding encoding);

 private:
  std::string uri_, path_;
  int64_t version_;
  std::string text_;
  LineIndex lines_;
};

}  // namespace expc::lsp
