// Readiness is asked for every few hundredths of a second until it is there, and never again. A service is told to end
// by SIGTERM to its whole process group, since a shell in front of it would not pass the signal on, and killed if it
// does not end; runProgram() kills what is left of it.

#include "runtime/worker/command/service.h"

#include <llvm/ADT/StringExtras.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>

#include "runtime/base/clock.h"
#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/protocol/port.h"

namespace expc::command {
namespace {

// Seconds between two looks at a service that is not ready, and at one that is.
constexpr double kSoon = 0.02, kLater = 1;
// Seconds that a service has to end after SIGTERM.
constexpr double kGrace = 10;
// Milliseconds for a connection, and for each part of an answer.
constexpr int kPatience = 1000;
// Bytes at the end of an output in which a pattern is looked for: more than is written between two looks.
constexpr size_t kLooked = 1 << 20;

/// Waits until something can be done with a socket; false if that takes too long.
bool waits(int fd, short what) {
  pollfd wait{fd, what, 0};
  return poll(&wait, 1, kPatience) == 1;
}

/// A connection to the address, or the error of the last attempt.
Expected<Descriptor> connectTo(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); code != 0)
    return failure("the address {} is not known: {}", host, gai_strerror(code));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
  int error = ECONNREFUSED;
  for (const addrinfo* one = found; one; one = one->ai_next) {
    Descriptor fd(socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) continue;
    socklen_t size = sizeof error;
    if (connect(fd, one->ai_addr, one->ai_addrlen) == 0) return fd;
    error = errno;
    if (error != EINPROGRESS) continue;
    error = ETIMEDOUT;
    if (waits(fd, POLLOUT)) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) return fd;
  }
  return failure("nothing accepts connections at port {} ({})", port, std::strerror(error));
}

}  // namespace

bool isFree(const std::string& port) {
  uint16_t number = 0;
  if (!llvm::to_integer(StringRef(port), number, 10) || number == 0) return false;
  return protocol::canListen(number, true);
}

Error answers(const std::string& host, const std::string& port, const std::string& path) {
  auto fd = TRY(connectTo(host, port));
  if (path.empty()) return Error::success();
  const std::string request =
      fmt::format("GET {} HTTP/1.1\r\nHost: {}:{}\r\nConnection: close\r\n\r\n", path, host, port);
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) != ssize_t(request.size()))
    return failure("port {} takes no request", port);
  std::string answer;
  char piece[512];
  while (answer.size() < 64 && answer.find('\n') == std::string::npos && waits(fd, POLLIN)) {
    const ssize_t size = recv(fd, piece, sizeof piece, 0);
    if (size <= 0) break;
    answer.append(piece, size);
  }
  StringRef line = StringRef(answer).split('\n').first;
  unsigned code = 0;
  if (!line.consume_front("HTTP/") || !llvm::to_integer(line.split(' ').second.take_front(3), code, 10))
    return failure("port {} does not answer {}", port, path);
  if (code < 200 || code > 399) return failure("{} is answered with {}", path, code);
  return Error::success();
}

Expected<ServiceAttendant> ServiceAttendant::make(const Program& program, const plan::Ready& ready, std::string host,
                                                  std::string port, std::function<void(double, pid_t)> onReady) {
  ServiceAttendant attendant(program, ready);
  attendant.host_ = std::move(host);
  attendant.port_ = std::move(port);
  attendant.on_ready_ = std::move(onReady);
  if (ready.by != plan::Ready::By::Regex) return attendant;
  attendant.pattern_ = TRY(prefixed("ready", Pattern::compile(ready.what, Pattern::Use::Match)));
  return attendant;
}

Error ServiceAttendant::isReady() const {
  switch (asked_->by) {
    case plan::Ready::By::Http:
      return answers(host_, port_, asked_->what);
    case plan::Ready::By::Tcp:
      return answers(host_, port_, "");
    case plan::Ready::By::Regex:
      for (const std::string& output : {program_->out, program_->err})
        if (!llvm::errorToBool(pattern_->match(files::tail(output, kLooked)))) return Error::success();
      return failure("'{}' is not in its output", asked_->what);
    case plan::Ready::By::File:
      if (std::error_code failed; std::filesystem::exists(program_->folder + "/" + asked_->what, failed))
        return Error::success();
      return failure("it has not made '{}'", asked_->what);
  }
  return Error::success();
}

double ServiceAttendant::look(pid_t program) {
  if (told_at_) {
    if (base::secondsSince(*told_at_) > kGrace) kill(-program, SIGKILL);
    return kSoon;
  }
  if (ready_ || !late_.empty()) return kLater;
  Error error = isReady();
  const double seconds = base::secondsSince(began_);
  if (!error) {
    ready_ = true;
    on_ready_(seconds, program);
    return kLater;
  }
  std::string why = toString(std::move(error));
  const double most = asked_->timeout_seconds.value_or(plan::kReadySeconds);
  if (seconds < most) return kSoon;
  late_ = fmt::format("was not ready after {:.3g} s: {}", most, why);
  kill(-program, SIGKILL);
  return kLater;
}

/// The processor time of processes in seconds, without that of children that have ended.
static double secondsOf(const std::set<int>& pids) {
  double sum = 0;
  for (const int pid : pids) {
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock) == 0) sum += base::secondsOn(clock);
  }
  return sum;
}

ServiceUse::ServiceUse(pid_t program)
    : program_(program), before_(base::familyOf(program)), exact_before_(secondsOf(before_.pids)) {
  for (const int pid : before_.pids) base::forgetPeak(pid);
}

std::optional<double> ServiceUse::cpuSeconds() const {
  const base::Family now = base::familyOf(program_);
  if (!now.cpu_seconds || !before_.cpu_seconds) return std::nullopt;
  const double seconds =
      now.pids == before_.pids ? secondsOf(now.pids) - exact_before_ : *now.cpu_seconds - *before_.cpu_seconds;
  return seconds >= 0 ? std::optional(seconds) : std::nullopt;
}

std::optional<double> ServiceUse::peakBytes() const {
  uint64_t most = 0;
  for (const int pid : base::familyOf(program_).pids) {
    const std::string status = base::readText(fmt::format("/proc/{}/status", pid)).value_or("");
    StringRef peak = StringRef(status).split("VmHWM:").second.ltrim();
    uint64_t kib = 0;
    if (!peak.consumeInteger(10, kib)) most = std::max(most, kib << 10);
  }
  return most > 0 ? std::optional(double(most)) : std::nullopt;
}

void ServiceAttendant::told(pid_t program) {
  if (told_at_) return;
  told_at_ = base::Clock::now();
  kill(-program, SIGTERM);
}

}  // namespace expc::command
