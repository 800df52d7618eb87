#include "runtime/engine/rank.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "runtime/engine/worker_client.h"

namespace expc::engine {
namespace {

constexpr size_t kMaxLine = 64 << 20;
constexpr size_t kExcerpt = 120;

/// The beginning of a line, fit to print.
std::string excerpt(std::string_view line) {
  std::string text(line.substr(0, kExcerpt));
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return line.size() > kExcerpt ? text + "..." : text;
}

}  // namespace

Rank::Rank(unsigned number, uint64_t launch, int event_fd, std::string log)
    : number(number), launch(launch), log(std::move(log)), fd_(event_fd) {}

Rank::Rank(Rank&& other) noexcept
    : number(other.number),
      launch(other.launch),
      log(other.log),
      pid(other.pid),
      weight(other.weight),
      reason(std::move(other.reason)),
      killed(other.killed),
      fd_(other.fd_),
      exited_(other.exited_),
      had_result_(other.had_result_),
      buffer_(std::move(other.buffer_)) {
  other.fd_ = -1;
}

Rank::~Rank() { closePipe(); }

void Rank::closePipe() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void Rank::complain(Weight new_weight, std::string new_reason) {
  if (killed || new_weight <= weight) return;
  weight = new_weight;
  reason = std::move(new_reason);
}

void Rank::take(std::string_view line, std::vector<plan::Event>& events) {
  if (weight == Weight::Nonsense) return;  // the first such line is enough
  auto event = plan::eventFromLine(line);
  if (!event) {
    complain(Weight::Nonsense,
             fmt::format("wrote a line that is no event: '{}' ({})", excerpt(line), llvm::toString(event.takeError())));
    return;
  }
  switch (event->type) {
    case plan::Event::Type::Failed:
      complain(event->lost_others ? Weight::LostOthers : Weight::SaidFailed, event->reason);
      break;
    case plan::Event::Type::Infeasible:
      complain(Weight::OutOfMemory, event->reason);
      break;
    case plan::Event::Type::Result:
      if (had_result_) complain(Weight::Nonsense, "sent a second result");
      had_result_ = true;
      break;
    default:
      break;
  }
  events.push_back(std::move(*event));
}

std::vector<plan::Event> Rank::read() {
  std::vector<plan::Event> events;
  char piece[65536];
  while (fd_ >= 0) {
    ssize_t size = ::read(fd_, piece, sizeof piece);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size <= 0) {
      closePipe();
      if (!buffer_.empty()) take(buffer_, events);  // a last line that was cut
      buffer_.clear();
      break;
    }
    buffer_.append(piece, size);
    size_t begin = 0;
    for (size_t end; (end = buffer_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      take(std::string_view(buffer_).substr(begin, end - begin), events);
    }
    buffer_.erase(0, begin);
    if (buffer_.size() > kMaxLine) {
      complain(Weight::Nonsense, "wrote an event line without an end");
      closePipe();
    }
  }
  return events;
}

void Rank::exited(int status, std::optional<bool> memory_ran_out) {
  exited_ = true;
  if (WIFSIGNALED(status)) {
    const bool killed_hard = WTERMSIG(status) == SIGKILL;
    if (killed_hard && memory_ran_out.value_or(false))
      return complain(Weight::Signal,
                      "was killed by the kernel: the memory of this host ran out, which all ranks share");
    const char* hint =
        killed_hard && !memory_ran_out ? "; if nobody did that by hand, the kernel ran out of memory" : "";
    complain(Weight::Signal, fmt::format("was {}{}", statusText(status), hint));
  } else if (WEXITSTATUS(status) != 0) {
    // A rank that said why it fails has the better words.
    if (weight == Weight::None) complain(Weight::BadExit, statusText(status));
  }
}

}  // namespace expc::engine
