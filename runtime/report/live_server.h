#pragma once

// The live page of a run (`expc run --serve`): shows a browser on this host the report of a run that is still going on.
// It runs in a process beside the engine and reads the results folder like any reader, so it can neither disturb the
// journals nor end the run by a fault of its own. It is reachable on 127.0.0.1 only and answers nothing but its own
// pages.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"

namespace expc::report {

/// The process that serves the report pages of a run's studies, as they stand. It writes nothing, and ends with the
/// run, however that ends: it notices that the pipe to the run was closed. Movable, not copyable.
class LiveServer {
 public:
  /// Listens on 127.0.0.1 at `port`, or at a free port if it is 0, and forks the serving process. Must be called before
  /// this process has threads, since a fork copies only the calling one. Error: the port is taken, or no process can be
  /// made.
  static Expected<LiveServer> start(unsigned port, std::vector<Plan> plans, std::string folder);

  LiveServer(LiveServer&& other) noexcept = default;
  LiveServer& operator=(LiveServer&&) = delete;
  /// Kills the process, unless end() was called.
  ~LiveServer();

  /// The address for the browser: "http://127.0.0.1:8080/".
  const std::string& url() const { return url_; }

  /// Tells the process that the run ended with `code`. A page that is open shows that with the last state, then the
  /// process ends; this waits for it, for some seconds at most.
  void end(int code);

 private:
  LiveServer(int process, Descriptor line, std::string url)
      : process_(process), line_(std::move(line)), url_(std::move(url)) {}

  int process_;
  // The pipe to the process. If it closes without a code, the run is gone and the process ends.
  Descriptor line_;
  std::string url_;
};

/// A request of a browser, as far as it is read, and the answer.
struct PageRequest {
  std::string method, target, host;
};
struct PageAnswer {
  unsigned status = 200;
  std::string type, body;
};
/// Answers GET and HEAD of the run's `count` pages ("/" and "/0" are the first), made by `page`; anything else is an
/// error. A request must name this host: a page of another site whose name was made to lead to 127.0.0.1 (DNS
/// rebinding) is refused. No path names a file.
PageAnswer answer(const PageRequest& request, unsigned port, size_t count,
                  const std::function<std::string(size_t)>& page);

}  // namespace expc::report
