#pragma once

// The page of a run that goes on: on this host only, and only to look at.

#include <llvm/Support/Error.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/plan/plan.h"

namespace expc::live {

/// A process beside the run that gives a browser of this host the report pages of its studies, as they stand. It reads
/// the run's results folder as any reader does, writes nothing, and ends with the run, however that ends.
class Server {
 public:
  /// Listens on 127.0.0.1, at `port` or at a free one where it is 0. To be called before this process has threads.
  /// Error: the port is taken, or no process can be made.
  static llvm::Expected<Server> start(unsigned port, std::vector<plan::Plan> plans, std::string folder);

  Server(Server&& other) noexcept = default;
  Server& operator=(Server&&) = delete;
  /// Ends the process at once.
  ~Server();

  /// "http://127.0.0.1:8080/".
  const std::string& url() const { return url_; }

  /// The run has ended with `code`. A page that was open shows that and the last state before the process ends; this
  /// waits for it, some seconds at most.
  void end(int code);

 private:
  Server(int process, base::Descriptor line, std::string url)
      : process_(process), line_(std::move(line)), url_(std::move(url)) {}

  int process_;
  base::Descriptor line_;  // closed, nobody waits for the process
  std::string url_;
};

/// What a browser asks, and what it gets.
struct Request {
  std::string method, target, host;
};
struct Answer {
  unsigned status = 200;
  std::string type, body;
};
/// Only GET and HEAD of the run's `count` pages are answered ("/" and "/0" are the first), and only under a name of
/// this host: a page of another site whose name leads to 127.0.0.1 is refused. No path names a file.
Answer answer(const Request& request, unsigned port, size_t count, const std::function<std::string(size_t)>& page);

}  // namespace expc::live
