#pragma once

// SIGINT, SIGTERM, SIGHUP and SIGUSR1 while a run goes on: the first asks it to finish, a second one ends the process
// at once. SIGUSR1, which a cluster sends before a job's end, only ever asks: a job may get it beside another signal.
// A handler can reach nothing but globals, so there is one such state in a process, and whoever waits asks for it.

#include <csignal>

namespace expc::engine::launch {

/// Handlers are set from construction to destruction; one object at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// Of the object that there is now; false where there is none.
  static bool requested();
  /// Readable once it was requested; for poll. -1 where there is none.
  static int fd();

 private:
  struct sigaction old_[4];
};

}  // namespace expc::engine::launch
