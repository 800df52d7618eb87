#pragma once

// What one rank of a running trial has said and done so far. Private to this directory.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/trial.h"

namespace expc::engine {

/// Why a trial fails. Of several reasons the weightiest is told, then the first: when one rank dies the others complain
/// about it.
enum class Weight {
  None,
  LostOthers,  // an event `failed` that says so
  SaidFailed,  // any other
  BadExit,     // exit code not 0 and not a word
  Nonsense,    // a line that is no event
  Signal,
  OutOfMemory
};

class Rank {
 public:
  Rank(unsigned number, uint64_t launch, int event_fd, std::string log);
  Rank(Rank&& other) noexcept;
  Rank& operator=(Rank&&) = delete;
  ~Rank();

  /// Reads what is there and returns the events in it; notes nonsense.
  std::vector<plan::Event> read();
  /// `memory_ran_out`: whether the kernel has killed a process for memory since the rank began, where that is known.
  void exited(int status, std::optional<bool> memory_ran_out = std::nullopt);

  /// It is gone and its pipe is drained.
  bool finished() const { return exited_ && fd_ < 0; }
  bool isExited() const { return exited_; }
  int fd() const { return fd_; }
  /// A process that the rank left behind may hold the pipe open for ever.
  void closePipe();

  const unsigned number;
  const uint64_t launch;
  const std::string log;
  pid_t pid = 0;  // once the server has said so
  Weight weight = Weight::None;
  std::string reason;
  bool killed = false;  // by us: what it says and how it ends from now on means nothing

 private:
  void complain(Weight weight, std::string reason);
  void take(std::string_view line, std::vector<plan::Event>& events);

  int fd_;
  bool exited_ = false;
  bool had_result_ = false;
  std::string buffer_;
};

}  // namespace expc::engine
