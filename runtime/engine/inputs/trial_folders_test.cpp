#include "runtime/engine/inputs/trial_folders.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/base/format.h"
#include "tests/support/folder.h"

using namespace expc::engine::inputs;
namespace fs = std::filesystem;

namespace {

class ResultsFolder : public expc::test::TestFolder {
 public:
  std::string of(int64_t trial) const { return trialFolder(path, trial); }
  static void write(const std::string& file, const std::string& text) { std::ofstream(file) << text; }
  static std::string read(const std::string& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  static ino_t inode(const std::string& file) {
    struct stat state{};
    CHECK(stat(file.c_str(), &state) == 0);
    return state.st_ino;
  }
};

std::vector<std::string> namesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

}  // namespace

TEST_CASE("the folder of a trial that nobody wants becomes the next one's, without what its program wrote") {
  ResultsFolder results;
  {
    TrialFolders folders;
    llvm::cantFail(folders.make(results.of(1), {}));
    const std::string outputs = results.path + "/trials/.1";
    ResultsFolder::write(outputs + "/stdout.txt", "said");
    ResultsFolder::write(results.of(1) + "/stdout.txt", "a file of its own");
    ResultsFolder::write(results.of(1) + "/result.json", "{}");
    fs::create_directories(results.of(1) + "/deep/er");
    const ino_t folder = ResultsFolder::inode(results.of(1)), output = ResultsFolder::inode(outputs + "/stdout.txt");
    folders.drop(results.of(1));
    llvm::cantFail(folders.make(results.of(2), {}));
    CHECK(!fs::exists(results.of(1)));
    CHECK(ResultsFolder::inode(results.of(2)) == folder);
    CHECK(namesIn(results.of(2)).empty());
    CHECK(ResultsFolder::inode(results.path + "/trials/.2/stdout.txt") == output);
    // A second start of one trial finds its own folder.
    ResultsFolder::write(results.of(2) + "/result.json", "{}");
    folders.drop(results.of(2));
    llvm::cantFail(folders.make(results.of(2), {}));
    CHECK(ResultsFolder::inode(results.of(2)) == folder);
    CHECK(namesIn(results.of(2)).empty());
    // If two folders are dropped, one stays as the spare; with the object that goes, too.
    llvm::cantFail(folders.make(results.of(3), {}));
    folders.drop(results.of(2));
    folders.drop(results.of(3));
    CHECK(namesIn(results.path + "/trials").size() == 2);
  }
  CHECK(namesIn(results.path + "/trials").empty());
}

TEST_CASE("a folder that is kept has the outputs, where the program has no files of their names") {
  ResultsFolder results;
  TrialFolders folders;
  for (const int64_t trial : {1, 2}) {
    llvm::cantFail(folders.make(results.of(trial), {}));
    ResultsFolder::write(fmt::format("{}/trials/.{}/stdout.txt", results.path, trial), "said");
  }
  ResultsFolder::write(results.of(2) + "/stdout.txt", "its own");
  TrialFolders::keep(results.of(1));
  TrialFolders::keep(results.of(2));
  CHECK(ResultsFolder::read(results.of(1) + "/stdout.txt") == "said");
  CHECK(!fs::exists(results.path + "/trials/.1"));
  CHECK(ResultsFolder::read(results.of(2) + "/stdout.txt") == "its own");
  CHECK(ResultsFolder::read(results.path + "/trials/.2/stdout.txt") == "said");
}

TEST_CASE("what a program put into its folder goes with it, and leads nobody elsewhere") {
  ResultsFolder results;
  TrialFolders folders;
  const std::string mine = results.path + "/mine.txt";
  ResultsFolder::write(mine, "mine");
  llvm::cantFail(folders.make(results.of(1), {}));
  fs::create_hard_link(mine, results.of(1) + "/stdout.txt");
  fs::create_symlink(mine, results.of(1) + "/stderr.txt");
  folders.drop(results.of(1));
  llvm::cantFail(folders.make(results.of(2), {}));
  CHECK(namesIn(results.of(2)).empty());
  CHECK(ResultsFolder::read(mine) == "mine");
  // A folder without permissions, which its program took away, is not used again.
  chmod(results.of(2).c_str(), 0500);
  folders.drop(results.of(2));
  llvm::cantFail(folders.make(results.of(3), {}));
  struct stat state{};
  REQUIRE(stat(results.of(3).c_str(), &state) == 0);
  CHECK((state.st_mode & S_IRWXU) == S_IRWXU);
  // A folder that exists already is made anew.
  folders.drop(results.of(3));
  fs::create_directories(results.of(4) + "/old");
  llvm::cantFail(folders.make(results.of(4), {}));
  CHECK(namesIn(results.of(4)).empty());
}
