#include "runtime/worker/command/process.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <ios>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "tests/support/folder.h"
#include "tests/support/text/has.h"

using namespace expc::command;

namespace {

std::string textOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {(std::istreambuf_iterator<char>(in)), {}};
}

using expc::test::has;
using expc::test::TestFolder;

class Runner {
 public:
  Runner() {
    program.folder = folder.path;
    program.out = folder.path + "/out";
    program.err = folder.path + "/err";
  }
  llvm::Expected<ProgramEnd> run(std::vector<std::string> arguments) {
    program.arguments = std::move(arguments);
    program.path = program.arguments.front();
    return runProgram(program);
  }
  ProgramEnd python(const std::string& script) { return llvm::cantFail(run({"/usr/bin/python3", "-c", script})); }
  std::string refusal(const std::string& name) {
    auto end = run({name});
    REQUIRE(!end);
    return llvm::toString(end.takeError());
  }
  /// Makes an executable file in the folder.
  std::string script(const std::string& text) {
    const std::string path = folder.path + "/script";
    std::ofstream(path) << text;
    chmod(path.c_str(), 0755);
    return path;
  }
  std::string out() const { return textOf(program.out); }
  std::string err() const { return textOf(program.err); }

  TestFolder folder;
  Program program;
};

/// Whether the process is gone, or will be soon: a zombie whose parent is another process.
bool isGone(pid_t pid) {
  const std::string stat = textOf("/proc/" + std::to_string(pid) + "/stat");
  return stat.empty() || stat.find(") Z ") != std::string::npos;
}

}  // namespace

TEST_CASE("a program runs in its folder, with its arguments as they are and its outputs apart") {
  Runner runner;
  const ProgramEnd end = llvm::cantFail(runner.run(
      {"/usr/bin/python3", "-c", "import os, sys; print(os.getcwd(), sys.argv[1:]); print('so', file=sys.stderr)",
       "a b", "$HOME", "*", ""}));
  CHECK(end.status == 0);
  CHECK(runner.out() == runner.folder.path + " ['a b', '$HOME', '*', '']\n");
  CHECK(runner.err() == "so\n");
  CHECK(end.left_behind == 0);
  CHECK(end.peak_bytes > 1 << 20);
}

TEST_CASE("time and memory are the program's and its children's") {
  Runner runner;
  ProgramEnd end = llvm::cantFail(runner.run({"/usr/bin/sleep", "0.3"}));
  CHECK(end.wall_seconds >= 0.3);
  CHECK(end.wall_seconds < 2);
  CHECK(end.cpu_seconds < 0.2);
  end = runner.python(
      "import subprocess, sys; subprocess.run([sys.executable, '-c', 'b = bytearray(200 << 20)\\nfor i in "
      "range(3000000): pass'])");
  CHECK(end.status == 0);
  CHECK(end.cpu_seconds > 0.02);
  CHECK(end.peak_bytes > 200ull << 20);
}

TEST_CASE("what starts a program does not count as the program's memory") {
  Runner runner;
  const auto use = [](std::vector<char>& bytes) {
    for (size_t i = 0; i < bytes.size(); i += 4096) bytes[i] = 1;
  };
  std::vector<char> before(300 << 20);
  use(before);
  std::vector<char>().swap(before);
  ProgramEnd end = llvm::cantFail(runner.run({"/usr/bin/sleep", "0"}));
  CHECK(end.peak_bytes < 100ull << 20);
  // Memory that we still hold cannot be told from the program's; least_peak says how much that is.
  std::vector<char> kept(300 << 20);
  use(kept);
  end = llvm::cantFail(runner.run({"/usr/bin/sleep", "0"}));
  CHECK(end.least_peak > 300ull << 20);
  CHECK(end.peak_bytes <= end.least_peak);
}

TEST_CASE("exit codes and signals are reported") {
  Runner runner;
  ProgramEnd end = runner.python("raise SystemExit(3)");
  CHECK(WEXITSTATUS(end.status) == 3);
  end = runner.python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)");
  CHECK(WIFSIGNALED(end.status));
  CHECK(WTERMSIG(end.status) == SIGKILL);
  // A broken pipe ends a program as it does in a shell: the signal is not ignored.
  end = runner.python(
      "import os, signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL); r, w = os.pipe(); os.close(r); os.write(w, "
      "b'x')");
  CHECK(WTERMSIG(end.status) == SIGPIPE);
  end = llvm::cantFail(
      runner.run({"/usr/bin/env", "--default-signal=HUP", "/usr/bin/grep", "SigIgn:", "/proc/self/status"}));
  // Signals 32 and 33 are the C library's own: whoever started the tests may ignore them, and nobody can change that.
  const std::string ignored = runner.out();
  REQUIRE(ignored.substr(0, 8) == "SigIgn:\t");
  CHECK((std::stoull(ignored.substr(8), nullptr, 16) & ~0x180000000ull) == 0);
}

TEST_CASE("a program that cannot be started says why") {
  Runner runner;
  CHECK(has(runner.refusal("no-such-program"), "program 'no-such-program' not found in PATH; "));
  CHECK(has(runner.refusal("no-such-program"), "write './no-such-program'"));
  CHECK(runner.refusal("/no/such") == "the program '/no/such' does not exist");
  CHECK(has(runner.refusal("/etc/passwd"), "is not executable"));
  CHECK(has(runner.refusal(runner.folder.path), "is not executable"));
  // The file is not handed to a shell.
  const std::string plain = runner.script("echo hello\n");
  CHECK(runner.refusal(plain) == "this machine cannot run the program '" + plain +
                                     "'; a script needs a first line '#!/path/of/its/interpreter'");
  const std::string lost = runner.script("#! /no/such/interpreter -x\n");
  CHECK(has(runner.refusal(lost), "the interpreter that its first line names does not exist"));
  runner.program.folder = "/no/such/folder";
  CHECK(has(runner.refusal("/usr/bin/true"), "cannot enter the trial's folder '/no/such/folder'"));
}

TEST_CASE("nothing that a program started outlives it") {
  Runner runner;
  const ProgramEnd end = runner.python(R"(
import os, sys, time
told, tell = os.pipe()
for kind in ('plain', 'group', 'session'):
    pid = os.fork()
    if pid == 0:
        if kind == 'group': os.setpgid(0, 0)
        if kind == 'session': os.setsid()
        if os.fork() == 0:
            os.write(1, b'%d\n' % os.getpid())  # at once: an unbuffered print writes number and line's end apart
            os.write(tell, b'x')
        time.sleep(600)
for _ in range(3): os.read(told, 1)
)");
  CHECK(end.status == 0);
  CHECK(end.wall_seconds < 10);
  CHECK(end.left_behind == 6);
  std::istringstream pids(runner.out());
  int count = 0;
  for (pid_t pid; pids >> pid; ++count) CHECK(isGone(pid));
  CHECK(count == 3);
}

TEST_CASE("a flood of output ends the program") {
  Runner runner;
  runner.program.most_output = 20 << 20;
  const auto begin = std::chrono::steady_clock::now();
  const ProgramEnd end = runner.python("while True: print('x' * 100000)");
  CHECK(end.flooded);
  CHECK(WTERMSIG(end.status) == SIGKILL);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}
