#pragma once

#include <llvm/Support/Error.h>

#include <functional>
#include <string>
#include <string_view>

namespace expc::load {

/// Where files are read from; tests hand in a fake. `read` gives the text of a file, or an error that says why not.
struct FileSystem {
  std::function<llvm::Expected<std::string>(const std::string& path)> read;
  /// The real one.
  static FileSystem real();
};

/// A file's path for use from the root file's folder: `directory`/`path` without dots; absolute paths stay.
std::string relativeTo(std::string_view directory, std::string_view path);

}  // namespace expc::load
