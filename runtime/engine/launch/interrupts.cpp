#include "runtime/engine/launch/interrupts.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <iterator>

namespace expc::engine::launch {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
constexpr int kInterruptedCode = 130;
constexpr int kSignalCount = std::size(kSignals);

std::atomic<int> count{0};
int pipe_ends[2] = {-1, -1};

void handle(int signal) {
  // The launch server sees the socket close and kills the trial; the store is safe at any moment.
  if (count.fetch_add(1) > 0 && signal != SIGUSR1) _exit(kInterruptedCode);
  int saved = errno;
  [[maybe_unused]] ssize_t written = write(pipe_ends[1], "", 1);
  errno = saved;
}

}  // namespace

Interrupts::Interrupts() {
  count = 0;
  if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) pipe_ends[0] = pipe_ends[1] = -1;
  struct sigaction action{};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  for (int i = 0; i < kSignalCount; ++i) {
    sigaction(kSignals[i], nullptr, &old_[i]);
    // nohup means what it says. A shell that starts a command with `&` has it ignore SIGINT, but whoever sends that
    // means it.
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
