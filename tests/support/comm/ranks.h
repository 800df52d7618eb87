#pragma once

// For tests: runs a function in several processes that find each other, and collects what each of them says.

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "runtime/protocol/port.h"
#include "runtime/worker/comm/communicator.h"

namespace expc::comm {

struct RankOutcome {
  std::string said;    // what the function returned, or "exception: ..." when it threw
  bool ended = false;  // before the deadline
  double seconds = 0;
};

/// Where this rank says what it has to say.
inline int said_to = -1;

inline void say(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(said_to, text.data() + at, text.size() - at);
    if (n <= 0) break;
    at += size_t(n);
  }
}

/// From any thread of a rank, when the one that runs its function will not come back.
[[noreturn]] inline void sayAndLeave(const std::string& text) {
  say(text);
  _exit(0);
}

/// Forks `world` ranks. The caller must not have started threads (no torch operator that runs in parallel). Ranks that
/// have not ended at the deadline are killed.
inline std::vector<RankOutcome> runRanks(unsigned world, std::chrono::milliseconds timeout,
                                         std::chrono::seconds deadline,
                                         const std::function<std::string(const Rendezvous&)>& body) {
  struct Child {
    pid_t pid;
    int fd;
  };
  Rendezvous rendezvous;
  rendezvous.world_size = world;
  rendezvous.master_port = protocol::freePort();
  rendezvous.timeout = timeout;
  std::vector<Child> children;
  for (unsigned rank = 0; rank < world; ++rank) {
    int ends[2];
    if (pipe(ends) != 0) abort();
    const pid_t pid = fork();
    if (pid == 0) {
      close(ends[0]);
      said_to = ends[1];
      rendezvous.rank = rendezvous.local_rank = rank;
      std::string said;
      try {
        said = body(rendezvous);
      } catch (const std::exception& error) {
        said = std::string("exception: ") + error.what();
      }
      sayAndLeave(said);
    }
    close(ends[1]);
    children.push_back({pid, ends[0]});
  }
  const auto start = std::chrono::steady_clock::now();
  std::vector<RankOutcome> outcomes(world);
  for (unsigned rank = 0; rank < world; ++rank) {
    auto& outcome = outcomes[rank];
    while (true) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(start + deadline - std::chrono::steady_clock::now());
      pollfd waiting{children[rank].fd, POLLIN, 0};
      if (left.count() <= 0 || poll(&waiting, 1, int(left.count())) <= 0) break;
      char buffer[65536];
      const ssize_t n = read(children[rank].fd, buffer, sizeof(buffer));
      if (n <= 0) {
        outcome.ended = true;
        break;
      }
      outcome.said.append(buffer, size_t(n));
    }
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  for (unsigned rank = 0; rank < world; ++rank) {
    const auto& child = children[rank];
    int status = 0;
    if (!outcomes[rank].ended) kill(child.pid, SIGKILL);
    waitpid(child.pid, &status, 0);
    if (outcomes[rank].ended && WIFSIGNALED(status))
      outcomes[rank].said += "killed by signal " + std::to_string(WTERMSIG(status));
    close(child.fd);
  }
  return outcomes;
}

}  // namespace expc::comm
