#include "runtime/engine/not_given.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/folder.h"

using namespace expc;
using namespace expc::engine;

namespace {

CommandEnvironment environmentOf(const std::vector<std::string>& all, const std::vector<std::string>& passed = {}) {
  return llvm::cantFail(commandEnvironment(all, passed));
}

}  // namespace

TEST_CASE("variables of training libraries that commands do not get are told in one line") {
  const std::vector<std::string> all{"HF_HOME=/x",      "NCCL_DEBUG=INFO", "NCCL_VERSION=2", "OMP_NUM_THREADS=1",
                                     "CUDA_HOME=/cuda", "EDITOR=vi",       "PATH=/bin"};
  CHECK(notGivenLines(environmentOf(all), {}) ==
        std::vector<std::string>{
            "HF_HOME, NCCL_DEBUG are set here but not passed to commands; --pass-env NAME passes one"});
  CHECK(notGivenLines(environmentOf(all, {"HF_HOME"}), {}) ==
        std::vector<std::string>{"NCCL_DEBUG is set here but not passed to commands; --pass-env NAME passes one"});
  CHECK(notGivenLines(environmentOf(all, {"HF_HOME", "NCCL_DEBUG"}), {}).empty());
}

TEST_CASE("a failure that names what was not given says how to give it") {
  const test::TestFolder study, trial;
  std::filesystem::create_directories(study.path + "/data");
  std::filesystem::create_directories(study.path + "/pkg");
  for (const char* name : {"/data/train.txt", "/net.py", "/pkg/__init__.py", "/run.cfg", "/given.txt", "/r.json"})
    std::ofstream(study.path + name) << "";
  std::ofstream(trial.path + "/given.txt") << "";
  const CommandEnvironment environment = environmentOf({"MODEL_DIR=/m", "PATH=/bin", "A=1"});
  const auto text = [&](const std::string& reason) {
    plan::Command command;
    command.metrics.emplace_back().file = "r.json";
    return notGivenText(reason, command, environment, study.path, trial.path);
  };
  CHECK(text("KeyError: 'MODEL_DIR'") == "; MODEL_DIR is set here but not passed to commands: --pass-env MODEL_DIR");
  CHECK(text("run.sh: line 3: MODEL_DIR: unbound variable").find("--pass-env MODEL_DIR") != std::string::npos);
  CHECK(text("MODEL_DIRS and A and PATH").empty());
  const std::string beside = " is next to the study but not in the trial's folder: inputs ";
  CHECK(text("No such file or directory: 'data/train.txt'") == "; data/train.txt" + beside + "\"data/train.txt\"");
  CHECK(text("cannot open ./run.cfg.") == "; run.cfg" + beside + "\"run.cfg\"");
  CHECK(text("cat: " + trial.path + "/run.cfg: gone") == "; run.cfg" + beside + "\"run.cfg\"");
  CHECK(text("ModuleNotFoundError: No module named 'net'") == "; net.py" + beside + "\"net.py\"");
  CHECK(text("ModuleNotFoundError: No module named 'pkg.mod'").find("inputs \"pkg/") != std::string::npos);
  std::ofstream(study.path + "/pkg/mod.py") << "";
  std::filesystem::create_directories(trial.path + "/pkg");
  CHECK(text("ModuleNotFoundError: No module named 'pkg.mod'") == "; pkg/mod.py" + beside + "\"pkg/mod.py\"");
  CHECK(text("given.txt is bad").empty());
  CHECK(text("the metric loss, read from 'r.json': the program did not write it").empty());
  CHECK(text("no data, ../x, /etc/passwd, ./").empty());
}
