#include "runtime/worker/command/kept_output.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "runtime/worker/command/metrics.h"
#include "tests/support/folder.h"

using namespace expc;
using namespace expc::command;
namespace fs = std::filesystem;

namespace {

struct KeptFolder {
  KeptFolder() {
    for (const std::string& folder : {path, plan::outputsOf(path)}) fs::create_directories(folder);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(trialFile(name, path)) << text; }
  std::string read(const std::string& name) const {
    std::ifstream in(trialFile(name, path));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  expc::test::TestFolder made;
  const std::string path = made.path + "/trial";
};

}  // namespace

TEST_CASE("what was kept comes back as it was, and no more than fits is kept") {
  const KeptFolder trial, results, back;
  const std::string kept = results.path + "/outputs/7";
  const std::string binary("a\0\xff\n", 4);
  trial.write("stdout.txt", binary);
  trial.write("large.txt", std::string(kMostKept, 'x'));
  trial.write("out.json", "{}");
  ProgramEnd end;
  end.wall_seconds = 2.5;
  end.cpu_seconds = 1.25;
  end.peak_bytes = 1 << 20;
  const std::vector<std::string> files{"stdout.txt",    "large.txt",     "missing.txt",
                                       "../escape.txt", "/etc/hostname", "out.json"};
  llvm::cantFail(keepOutput(kept, trial.path, files, end));
  CHECK(fs::file_size(kept) < 1000);
  const KeptOutput found = llvm::cantFail(unpackOutput(kept, back.path));
  CHECK(found.end.wall_seconds == 2.5);
  CHECK(found.end.cpu_seconds == 1.25);
  CHECK(found.end.peak_bytes == 1 << 20);
  CHECK(found.left_out == std::vector<std::string>{"large.txt"});
  CHECK(back.read("stdout.txt") == binary);
  CHECK(back.read("out.json") == "{}");
}

TEST_CASE("a program that wrote nothing leaves nothing to keep") {
  const KeptFolder trial, results;
  trial.write("stdout.txt", "");
  llvm::cantFail(keepOutput(results.path + "/outputs/7", trial.path, {"stdout.txt", "missing.txt"}, ProgramEnd()));
  CHECK(!fs::exists(results.path + "/outputs"));
}

TEST_CASE("a kept output of a stranger writes nothing outside of the folder, and nonsense is refused") {
  const KeptFolder results, back;
  const std::string kept = results.path + "/7";
  for (const char* text :
       {"", "expc-output 1 \n", "expc-output 1 zstd 12\nnonsense", "expc-output 1 zstd 99999999999\nx",
        "expc-output 2 plain 2\n{}", "expc-output 1 plain 2\n{}",
        R"(expc-output 1 plain 2
{"wall":1,"cpu_time":1,"peak":1,"left_out":[],"files":{"../escape.txt":"eA=="}})",
        R"(expc-output 1 plain 2
{"wall":1,"cpu_time":1,"peak":1,"left_out":[],"files":{"/tmp/expc-escape.txt":"eA=="}})",
        R"(expc-output 1 plain 2
{"wall":1,"cpu_time":1,"peak":1,"left_out":[],"files":{"a":"!"}})"}) {
    CAPTURE(text);
    results.write("7", text);
    auto found = unpackOutput(kept, back.path);
    CHECK(!found);
    llvm::consumeError(found.takeError());
  }
  CHECK(!fs::exists(fs::path(back.path).parent_path() / "escape.txt"));
  CHECK(!fs::exists("/tmp/expc-escape.txt"));
}
