// Runs one program and measures it. The start is by vfork and exec: a copy of this process's memory
// map would take longer than a short program. Time is taken from just before the start until the
// program's death is seen, memory and processor time come from wait4(). Everything that the program
// starts is killed at its end.

#include "runtime/worker/command/process.h"

#include <llvm/Support/Program.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/process.h"
#include "runtime/worker/serve/child.h"

extern char** environ;

namespace expc::command {
namespace {

/// Intervals at which the size of the output is looked at.
constexpr timespec kLookEvery{0, 250'000'000};

/// The step of the start that failed. The child writes it itself: until exec it shares our memory.
struct Refusal {
  enum Step { None, Folder, Exec } step = None;
  int error = 0;
};

/// Ends the child after a failed step.
[[noreturn]] void refuse(volatile Refusal& refusal, Refusal::Step step) {
  refusal.error = errno;
  refusal.step = step;
  _exit(127);
}

/// The child between vfork and exec. It makes system calls only and must not change our memory,
/// except `refusal`.
[[noreturn]] void become(const Program& program, int out, int err, const char* file, char** argv, pid_t parent,
                         volatile Refusal& refusal) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  /// The parent may have died before the line above; then nobody would end this process.
  if (getppid() != parent) _exit(125);
  /// A session of its own has no terminal, so a program that asks there for a password fails at
  /// once.
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Ignored signals would stay ignored in the program.
  for (const int ignored : {SIGPIPE, SIGXFSZ}) std::signal(ignored, SIG_DFL);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  if (chdir(program.folder.c_str()) != 0) refuse(refusal, Refusal::Folder);
  // execve and not execvp, which would hand a text file to a shell.
  execve(file, argv, environ);
  refuse(refusal, Refusal::Exec);
}

/// Starts the child; returns once it has become the program or is dead (vfork).
pid_t startChild(const Program& program, int out, int err, const char* file, char** argv, pid_t self,
                 volatile Refusal& refusal) {
  const pid_t pid = vfork();
  if (pid == 0) become(program, out, err, file, argv, self, refusal);
  return pid;
}

/// The resident bytes of this process, and a little more: the kernel counts per core and adds up
/// later.
uint64_t residentBytes() {
  constexpr uint64_t kUncounted = 1 << 20;
  std::ifstream in("/proc/self/statm");
  uint64_t whole = 0, resident = 0;
  in >> whole >> resident;
  return resident * uint64_t(sysconf(_SC_PAGESIZE)) + kUncounted;
}

/// Gives back the memory that reading earlier outputs took, and makes the kernel forget that we had
/// it. Linux counts the largest size before exec as the program's own peak (exec_mmap in
/// fs/exec.c), and until exec the child shares our memory.
void becomeSmall() {
  malloc_trim(0);
  base::forgetPeak(getpid());
}

/// The smallest peak that can be measured of a program: our own size at its start. Shrinks us first
/// if we have grown; asking is one call, so that short programs do not pay for it.
uint64_t leastPeak() {
  constexpr uint64_t kSmall = 8 << 20;
  static uint64_t least = 0;
  rusage own{};
  getrusage(RUSAGE_SELF, &own);
  const uint64_t had = uint64_t(own.ru_maxrss) << 10;
  // The first time; or shrinking did not suffice last time; or we have grown since.
  if (least == 0 || least > kSmall || had > least) {
    becomeSmall();
    least = residentBytes();
  }
  return least;
}

/// The error of a failed exec, with the way out.
Error noExec(const std::string& file, int error) {
  if (error == ENOENT && access(file.c_str(), F_OK) != 0) return failure("the program '{}' does not exist", file);
  if (error == ENOENT)
    return failure("'{}' cannot be started: the interpreter that its first line names does not exist", file);
  if (error == EACCES) return failure("the program '{}' is not executable (use chmod +x)", file);
  if (error == ENOEXEC)
    return failure("this machine cannot run the program '{}'; a script needs a first line '#!/path/of/its/interpreter'",
                   file);
  if (error == E2BIG) return failure("the arguments of '{}' are too long for the system", file);
  return failure("the program '{}' cannot be started: {}", file, std::strerror(error));
}

/// The error of a program that was not started.
Error refused(const Program& program, const std::string& file, const Refusal& refusal) {
  if (refusal.step == Refusal::Exec) return noExec(file, refusal.error);
  return failure("cannot enter the trial's folder '{}': {}", program.folder, std::strerror(refusal.error));
}

/// Whether a file is larger than `most` bytes.
bool larger(int fd, uint64_t most) {
  struct stat state{};
  return fstat(fd, &state) == 0 && uint64_t(state.st_size) > most;
}

/// Reaps the dead children. @returns whether the program itself is among them; `end` is filled in
/// then
bool reap(pid_t program, base::Clock::time_point start, ProgramEnd& end) {
  int status = 0;
  rusage usage{};
  while (true) {
    const pid_t dead = wait4(-1, &status, WNOHANG, &usage);
    if (dead < 0 && errno == EINTR) continue;
    if (dead <= 0) return false;
    if (dead != program) continue;  // an orphan of the program, which came to us as the subreaper
    end.wall_seconds = base::secondsSince(start);
    end.status = status;
    end.pid = program;
    const auto seconds = [](const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
    end.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    end.peak_bytes = uint64_t(usage.ru_maxrss) << 10;
    return true;
  }
}

/// Starts the program and waits for its end. `signals` must be blocked, since they are waited for.
Expected<ProgramEnd> run(const Program& program, const std::string& file, const sigset_t& signals) {
  const Descriptor out(files::openLog(program.out)), err(files::openLog(program.err));
  if (out < 0 || err < 0) return failure("no file for the output: {}: {}", program.out, std::strerror(errno));
  std::vector<char*> argv;
  for (const std::string& argument : program.arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  // Volatile, because the child changes it in our memory without the compiler's knowledge.
  volatile Refusal refusal;
  const pid_t self = getpid();
  ProgramEnd end;
  end.file = file;
  end.least_peak = leastPeak();
  const auto start = base::Clock::now();
  end.began_seconds = std::chrono::duration<double>(start.time_since_epoch()).count();
  const pid_t pid = startChild(program, out, err, file.c_str(), argv.data(), self, refusal);
  if (pid < 0) return failure("no process for the program: {}", std::strerror(errno));
  while (!reap(pid, start, end)) {
    timespec wait = kLookEvery;
    if (program.attendant) {
      const double seconds = program.attendant->look(pid);
      wait = {time_t(seconds), long((seconds - std::trunc(seconds)) * 1e9)};
    }
    if (sigtimedwait(&signals, nullptr, &wait) == SIGTERM && program.attendant) program.attendant->told(pid);
    // Without a limit, a program in an endless loop of messages would fill the disk.
    if (end.flooded || (!larger(out, program.most_output) && !larger(err, program.most_output))) continue;
    end.flooded = true;
    kill(-pid, SIGKILL);
  }
  // Whatever the program started and left is killed before the trial's end is reported.
  serve::Strangers strangers = serve::killStrangers({});
  end.left_behind = strangers.killed;
  end.stuck = std::move(strangers.left);
  if (refusal.step != Refusal::None) return refused(program, file, {Refusal::Step(refusal.step), refusal.error});
  return end;
}

}  // namespace

std::string locate(const std::string& path) {
  if (path.find('/') != std::string::npos) return path;
  // Found once per PATH: the engine holds a run to the program that it found, and searching a long
  // PATH takes time.
  static std::map<std::pair<std::string, std::string>, std::string> known;
  const char* folders = std::getenv("PATH");
  std::string& file = known[{path, folders ? folders : ""}];
  if (file.empty() || access(file.c_str(), X_OK) != 0) {
    const auto found = llvm::sys::findProgramByName(path);
    file = found ? *found : "";
  }
  return file;
}

Expected<ProgramEnd> runProgram(const Program& program) {
  const std::string file = locate(program.path);
  if (file.empty()) {
    const char* path = std::getenv("PATH");
    return failure("program '{}' not found in PATH; for a file next to the study, write './{}' (PATH is {})",
                   program.path, program.path, path ? path : "not set");
  }
  /// Processes that the program abandons come to us and can be found.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t signals, before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  if (program.attendant) sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, &before);
  auto end = run(program, file, signals);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return end;
}

}  // namespace expc::command
