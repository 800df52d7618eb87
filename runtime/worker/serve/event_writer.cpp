// Writes events line by line. All writes of a process go through one mutex, so that lines of
// several threads do not mix and only one event ends the trial.

#include "runtime/worker/serve/event_writer.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

namespace expc::serve {

EventWriter::EventWriter(int fd) : fd_(fd) { std::signal(SIGPIPE, SIG_IGN); }

bool EventWriter::send(std::string_view text) {
  while (open_ && !text.empty()) {
    ssize_t written = ::write(fd_, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(written);
    } else if (errno != EINTR) {
      // A failed write means that the engine is gone; further events are dropped.
      open_ = false;
    }
  }
  return open_;
}

bool EventWriter::writeRaw(std::string_view text) {
  const std::lock_guard lock(mutex_);
  return send(text);
}

bool EventWriter::write(const protocol::Event& event) {
  using Type = protocol::Event::Type;
  const std::lock_guard lock(mutex_);
  if (ended_) return false;
  ended_ = event.type == Type::Result || event.type == Type::Failed || event.type == Type::Infeasible;
  return send(protocol::toLine(event) + '\n');
}

bool EventWriter::started() { return write(protocol::Event{}); }

bool EventWriter::progress(uint64_t done, uint64_t total, std::string_view phase) {
  return write({.type = protocol::Event::Type::Progress, .done = done, .total = total, .phase = std::string(phase)});
}

bool EventWriter::failed(std::string_view reason) {
  return write({.type = protocol::Event::Type::Failed, .reason = std::string(reason), .names_rank = names_rank_});
}

bool EventWriter::lostOthers(std::string_view reason) {
  return write({.type = protocol::Event::Type::Failed,
                .reason = std::string(reason),
                .lost_others = true,
                .names_rank = names_rank_});
}

bool EventWriter::infeasible(std::string_view reason, bool host_memory) {
  return write({.type = protocol::Event::Type::Infeasible,
                .reason = std::string(reason),
                .names_rank = names_rank_,
                .host_memory = host_memory});
}

}  // namespace expc::serve
