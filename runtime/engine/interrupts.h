#pragma once

// SIGINT, SIGTERM, SIGHUP and SIGUSR1 while a run goes on: the first asks it to finish, a second one ends the process
// at once. SIGUSR1, which a cluster sends before a job's end, only ever asks: a job may get it beside another signal.

#include <csignal>

namespace expc::engine {

/// Handlers are set from construction to destruction; one object at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  bool requested() const;
  /// Readable once it was requested; for poll.
  int fd() const;
  /// The same of the object that there is now; -1 if there is none. For what waits and is not handed it.
  static int currentFd();

 private:
  struct sigaction old_[4];
};

}  // namespace expc::engine
