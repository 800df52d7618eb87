#pragma once

// For tests: a folder of its own for each, removed at the end.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace expc::test {

class TestFolder {
 public:
  TestFolder() {
    char name[] = "/tmp/expc-test-XXXXXX";
    path = mkdtemp(name);
  }
  TestFolder(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string operator/(const std::string& name) const { return path + "/" + name; }

  std::string path;
};

}  // namespace expc::test
