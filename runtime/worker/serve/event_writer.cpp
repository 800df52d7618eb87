#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "runtime/worker/serve/serve.h"

namespace expc::serve {
namespace {

plan::Event lastEvent(plan::Event::Type type, std::string_view reason) {
  plan::Event event;
  event.type = type;
  event.reason = reason;
  return event;
}

}  // namespace

EventWriter::EventWriter(int fd) : fd_(fd) { std::signal(SIGPIPE, SIG_IGN); }

bool EventWriter::send(std::string_view text) {
  while (open_ && !text.empty()) {
    ssize_t written = ::write(fd_, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(written);
    } else if (errno != EINTR) {
      open_ = false;
    }
  }
  return open_;
}

bool EventWriter::writeRaw(std::string_view text) {
  const std::lock_guard lock(mutex_);
  return send(text);
}

bool EventWriter::write(const plan::Event& event) {
  using Type = plan::Event::Type;
  const std::lock_guard lock(mutex_);
  if (ended_) return false;
  ended_ = event.type == Type::Result || event.type == Type::Failed || event.type == Type::Infeasible;
  return send(plan::toLine(event) + '\n');
}

bool EventWriter::started() { return write(plan::Event{}); }

bool EventWriter::progress(uint64_t done, uint64_t total, std::string_view phase) {
  plan::Event event;
  event.type = plan::Event::Type::Progress;
  event.done = done;
  event.total = total;
  event.phase = phase;
  return write(event);
}

bool EventWriter::failed(std::string_view reason) { return write(lastEvent(plan::Event::Type::Failed, reason)); }

bool EventWriter::lostOthers(std::string_view reason) {
  plan::Event event = lastEvent(plan::Event::Type::Failed, reason);
  event.lost_others = true;
  return write(event);
}

bool EventWriter::infeasible(std::string_view reason) {
  return write(lastEvent(plan::Event::Type::Infeasible, reason));
}

}  // namespace expc::serve
