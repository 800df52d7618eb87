#pragma once

// SIGINT, SIGTERM, SIGHUP and SIGUSR1 during a run: the first one asks the run to finish, a second one ends the process
// at once. SIGUSR1, which a cluster sends before a job's end, only ever asks, since a job may get it together with
// another signal.
//
// A signal handler can reach globals only, so a process has one such state, and whoever waits for something polls it.

#include <csignal>

namespace expc::engine::launch {

/// Sets the handlers at construction and restores the former ones at destruction; one object at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// Whether one of the signals has come since the object was made; false without an object.
  static bool requested();
  /// A descriptor for poll that becomes readable with the first signal; -1 without an object. It is never read, so it
  /// stays readable.
  static int fd();

 private:
  struct sigaction old_[4];
};

}  // namespace expc::engine::launch

namespace expc {
using engine::launch::Interrupts;
}
