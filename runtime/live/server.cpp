#include "runtime/live/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "runtime/live/pages.h"
#include "runtime/report/html.h"

namespace expc::live {
namespace {

namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;

/// With a browser that does not go on.
constexpr std::chrono::seconds kPatience{2};
constexpr size_t kMostHeader = 16 * 1024;
/// A page loads itself again every five seconds: one that did not for so long is closed.
constexpr std::chrono::seconds kOpen{9};

Answer plain(unsigned status, const char* why) { return {status, "text/plain; charset=utf-8", why}; }

/// Waits until `fd` can be read or written; false where that does not happen in time.
bool isReady(int fd, short event, Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd wait{fd, event, 0};
  return left > 0 && ::poll(&wait, 1, static_cast<int>(left)) == 1;
}

/// The head of a request; nothing where it does not come whole, in time, and as HTTP. A body is not read.
std::optional<Request> readRequest(int fd) {
  const auto until = Clock::now() + kPatience;
  std::string head;
  while (head.find("\r\n\r\n") == std::string::npos) {
    char part[4096];
    if (head.size() > kMostHeader || !isReady(fd, POLLIN, until)) return std::nullopt;
    const ssize_t got = ::recv(fd, part, sizeof part, 0);
    if (got <= 0) return std::nullopt;
    head.append(part, static_cast<size_t>(got));
  }
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kMostHeader);
  boost::system::error_code failed;
  parser.put(boost::asio::buffer(head), failed);
  if (!parser.is_header_done()) return std::nullopt;
  const auto& message = parser.get();
  return Request{std::string(message.method_string()), std::string(message.target()),
                 std::string(message[http::field::host])};
}

void send(int fd, std::string_view text) {
  const auto until = Clock::now() + kPatience;
  while (!text.empty() && isReady(fd, POLLOUT, until)) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

/// Answers in a process of its own.
class Answering {
 public:
  Answering(int listener, int line, unsigned port, Pages pages)
      : listener_(listener), line_(line), port_(port), pages_(std::move(pages)) {}

  void run() {
    while (!isOver()) {
      pollfd waits[] = {{listener_, POLLIN, 0}, {line_, POLLIN, 0}};
      if (::poll(waits, code_ ? 1 : 2, code_ ? 200 : -1) < 0 && errno != EINTR) return;
      if (!code_ && waits[1].revents) hear();
      if (waits[0].revents & POLLIN) serve();
    }
  }

 private:
  /// The run has ended, and nobody looks, or whoever looks was told.
  bool isOver() const { return gone_ || (code_ && (told_ || Clock::now() - asked_ > kOpen)); }

  void hear() {
    int code = 0;
    if (::read(line_, &code, sizeof code) == sizeof code)
      code_ = code;
    else
      gone_ = true;  // the run's process is no more
  }

  std::string page(size_t study) {
    asked_ = Clock::now();
    told_ = code_.has_value();
    return pages_.page(study, code_);
  }

  void serve() {
    const base::Descriptor fd(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd >= 0) exchange(fd);
  }

  void exchange(int fd) {
    const auto request = readRequest(fd);
    if (!request) return;
    const Answer given = answer(*request, port_, pages_.count(), [this](size_t study) { return page(study); });
    std::string text = fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
        "Content-Security-Policy: {}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
        "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
        "Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n",
        given.status, std::string(http::obsolete_reason(static_cast<http::status>(given.status))), given.type,
        given.body.size(), report::kPagePolicy);
    if (request->method != "HEAD") text += given.body;
    send(fd, text);
  }

  int listener_, line_;
  unsigned port_;
  Pages pages_;
  std::optional<int> code_;
  bool told_ = false, gone_ = false;
  Clock::time_point asked_;
};

llvm::Error cannot(unsigned port, const char* doing) {
  const int code = errno;
  const std::string where = port ? fmt::format("port {}", port) : "a port";
  return llvm::createStringError(fmt::format("--serve: cannot {} {} of 127.0.0.1: {}{}", doing, where,
                                             std::strerror(code),
                                             code == EADDRINUSE ? "; --serve alone takes a free one" : ""));
}

/// A socket that listens, and its port.
llvm::Expected<std::pair<base::Descriptor, unsigned>> listenAt(unsigned port) {
  base::Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener < 0) return cannot(port, "open");
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  socklen_t size = sizeof address;
  auto* plain_address = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, plain_address, size) != 0 || ::listen(listener, 16) != 0 ||
      ::getsockname(listener, plain_address, &size) != 0)
    return cannot(port, "listen at");
  return std::pair(std::move(listener), static_cast<unsigned>(ntohs(address.sin_port)));
}

}  // namespace

Answer answer(const Request& request, unsigned port, size_t count, const std::function<std::string(size_t)>& page) {
  const std::string at = fmt::format(":{}", port);
  if (request.host != "127.0.0.1" + at && request.host != "localhost" + at)
    return plain(403, "this page is for a browser on its own host, at 127.0.0.1\n");
  if (request.method != "GET" && request.method != "HEAD") return plain(405, "this page can only be read\n");
  for (size_t study = 0; study < count; ++study)
    if (request.target == fmt::format("/{}", study) || (study == 0 && request.target == "/"))
      return {200, "text/html; charset=utf-8", page(study)};
  return plain(404, "there is no such page\n");
}

llvm::Expected<Server> Server::start(unsigned port, std::vector<plan::Plan> plans, std::string folder) {
  auto listener = listenAt(port);
  if (!listener) return listener.takeError();
  base::Pipe line;
  if (line.read < 0) return cannot(port, "make a pipe for");
  const pid_t process = ::fork();
  if (process < 0) return cannot(port, "start a process for");
  if (process == 0) {
    line.write.close();
    // A terminal's end of the run is the run's to hear; this process ends when the run's does.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_IGN);
    setpriority(PRIO_PROCESS, 0, 10);
    Answering(listener->first, line.read, listener->second, Pages(plans, std::move(folder))).run();
    ::_exit(0);
  }
  return Server(process, std::move(line.write), fmt::format("http://127.0.0.1:{}/", listener->second));
}

Server::~Server() {
  if (line_ < 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void Server::end(int code) {
  if (line_ < 0 || ::write(line_, &code, sizeof code) != ssize_t(sizeof code)) return;
  ::waitpid(process_, nullptr, 0);
  line_.close();
}

}  // namespace expc::live
