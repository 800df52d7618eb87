#pragma once

// A folder for one test; gone with it.

#include <cstdlib>
#include <filesystem>
#include <string>

namespace expc::command {

class TestFolder {
 public:
  TestFolder() {
    char name[] = "/tmp/expc-command-XXXXXX";
    path = mkdtemp(name);
  }
  TestFolder(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

}  // namespace expc::command
