#pragma once

#include <llvm/Support/Error.h>

#include <map>
#include <string>
#include <vector>

#include "compiler/check/check.h"

namespace expc::driver {

/// The file system with changes that are not written yet, so that they can be checked, shown and then written at once.
class Overlay {
 public:
  /// Reads changed files from here, others from the disk, and remembers what it read. Must not outlive this.
  load::FileSystem files();

  /// Whether `text` is what stands at `path`. What came from elsewhere, such as the command line, is no file.
  bool holds(const std::string& path, std::string_view text) const;

  void change(const std::string& path, std::string text) { changed_[path] = std::move(text); }

  struct Change {
    std::string path, before, after;
  };
  /// What differs from the disk, by path.
  std::vector<Change> changes() const;

  /// Writes all changes: each file whole or not at all, its mode and a link to it kept. Nothing is written if a file
  /// cannot be, or is no longer what was read.
  llvm::Error write() const;

 private:
  std::map<std::string, std::string> read_, changed_;
};

}  // namespace expc::driver
