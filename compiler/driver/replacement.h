#pragma once

#include <llvm/Support/Error.h>
#include <llvm/Support/FileSystem.h>

#include <optional>
#include <string>

namespace expc::driver {

/// New text for a file that exists, whole or not at all: written beside it, then put in its place. The file's mode
/// stays, and a link goes on to point at it. Errors begin with "cannot write" and the file's name.
class Replacement {
 public:
  explicit Replacement(std::string name) : name_(std::move(name)) {}
  Replacement(Replacement&&) noexcept;
  ~Replacement();

  /// Writes the text beside the file. A file that is read-only is not replaced, even where its folder would allow it.
  llvm::Error prepare(const std::string& text);
  /// Puts what prepare wrote in the file's place.
  llvm::Error commit();

 private:
  llvm::Error failure(std::error_code code) const;

  std::string name_;
  llvm::SmallString<256> target_;
  std::optional<llvm::sys::fs::TempFile> file_;
};

}  // namespace expc::driver
