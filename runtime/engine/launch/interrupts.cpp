// The handlers of Interrupts. handle() may call only async-signal-safe functions (POSIX): an atomic, write and _exit.

#include "runtime/engine/launch/interrupts.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <iterator>

namespace expc::engine::launch {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
// 128 + SIGINT, as shells report a command that Ctrl-C ended.
constexpr int kInterruptedCode = 130;
constexpr int kSignalCount = std::size(kSignals);

std::atomic<int> count{0};
int pipe_ends[2] = {-1, -1};

void handle(int signal) {
  // Ending at once is safe: the launch server sees its socket close and kills the trial, and the store is valid at any
  // moment.
  if (count.fetch_add(1) > 0 && signal != SIGUSR1) _exit(kInterruptedCode);
  int saved = errno;
  [[maybe_unused]] ssize_t written = write(pipe_ends[1], "", 1);
  errno = saved;
}

}  // namespace

Interrupts::Interrupts() {
  count = 0;
  // Non-blocking, so that the handler can never hang on a full pipe.
  if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) pipe_ends[0] = pipe_ends[1] = -1;
  struct sigaction action{};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  for (int i = 0; i < kSignalCount; ++i) {
    sigaction(kSignals[i], nullptr, &old_[i]);
    // A SIGHUP that nohup made ignored stays ignored. A SIGINT that is ignored is handled all the same: a shell does
    // that to commands started with `&`, but whoever sends it later means it.
    if (kSignals[i] != SIGHUP || old_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupts::~Interrupts() {
  for (int i = 0; i < kSignalCount; ++i) sigaction(kSignals[i], &old_[i], nullptr);
  for (int& end : pipe_ends) {
    if (end >= 0) close(end);
    end = -1;
  }
  count = 0;
}

bool Interrupts::requested() { return count > 0; }

int Interrupts::fd() { return pipe_ends[0]; }

}  // namespace expc::engine::launch
