#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>

#include "tests/fuzz/hold.h"

namespace expc::fuzz {

/// A folder of this process with nothing in it, removed with the process.
inline std::string emptyFolder() {
  struct Folder {
    std::string path = (std::filesystem::temp_directory_path() / "expc-fuzz-XXXXXX").string();
    Folder() { hold(mkdtemp(path.data()) != nullptr, "a folder can be made"); }
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder kFolder;
  std::filesystem::remove_all(kFolder.path);
  std::filesystem::create_directories(kFolder.path);
  return kFolder.path;
}

inline void write(const std::string& path, const std::string& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace expc::fuzz
