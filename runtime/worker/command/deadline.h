#pragma once

#include <string>

namespace expc::command {

/// Ends this process with `event` (a whole line) on `event_fd` and exit code 1, if it lives for that many seconds: the
/// one way out of a library's call that takes for ever. One at a time.
class Deadline {
 public:
  Deadline(unsigned seconds, int event_fd);
  ~Deadline();
  /// What to say from now on.
  void say(const std::string& event);
};

}  // namespace expc::command
