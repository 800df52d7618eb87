#include "runtime/engine/line_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/plan/json.h"

namespace expc::engine {
namespace {

constexpr int kConnectMs = 5000;
// A peer whose machine is gone: asked after 10 s of silence, every 5 s, four times.
constexpr int kIdle = 10, kInterval = 5, kProbes = 4;
constexpr unsigned kUnacknowledgedMs = 60000;

void set(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); }

/// -1 where it cannot be reached.
int connectTo(const addrinfo& address) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  pollfd wait{fd, POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof error;
  const bool there = ::connect(fd, address.ai_addr, address.ai_addrlen) == 0 ||
                     (errno == EINPROGRESS && poll(&wait, 1, kConnectMs) == 1 &&
                      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0);
  if (there) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
  }
  ::close(fd);
  return -1;
}

}  // namespace

LineSocket::LineSocket(int fd) : fd_(fd) {
  if (fd < 0) return;
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, kIdle);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, kInterval);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMs);
}

LineSocket::LineSocket(LineSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), rest_(std::move(other.rest_)) {}

LineSocket& LineSocket::operator=(LineSocket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(rest_, other.rest_);
  return *this;
}

void LineSocket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

llvm::Expected<LineSocket> LineSocket::connect(const std::vector<std::string>& addresses) {
  for (const std::string& text : addresses) {
    const auto [host, port] = llvm::StringRef(text).rsplit(':');
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(host.str().c_str(), port.str().c_str(), &hints, &found) != 0) continue;
    int fd = -1;
    for (const addrinfo* one = found; one && fd < 0; one = one->ai_next) fd = connectTo(*one);
    freeaddrinfo(found);
    if (fd >= 0) return LineSocket(fd);
  }
  return llvm::createStringError(fmt::format("the engine cannot be reached at {}: nodes must reach each other by TCP",
                                             fmt::join(addresses, ", ")));
}

bool LineSocket::hasPeer() const {
  pollfd ended{fd_, POLLRDHUP, 0};
  return isOpen() && poll(&ended, 1, 0) >= 0 && (ended.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0;
}

bool LineSocket::send(const llvm::json::Object& message) {
  const std::string line = plan::canonicalJson(llvm::json::Object(message)) + "\n";
  for (size_t sent = 0; isOpen() && sent < line.size();) {
    const ssize_t size = ::send(fd_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0)
      close();
    else
      sent += size;
  }
  return isOpen();
}

std::vector<std::string> LineSocket::receive(size_t longest) {
  std::vector<std::string> lines;
  char piece[65536];
  // A peer that sends without end is heard again later.
  for (size_t heard = 0; isOpen() && heard <= longest;) {
    const ssize_t size = recv(fd_, piece, sizeof piece, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size <= 0) {
      close();
      break;
    }
    heard += static_cast<size_t>(size);
    rest_.append(piece, size);
    size_t begin = 0;
    for (size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
      lines.push_back(rest_.substr(begin, end - begin));
    rest_.erase(0, begin);
    if (rest_.size() > longest) close();
  }
  return lines;
}

std::string LineSocket::peer() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  char text[INET_ADDRSTRLEN] = "";
  if (getpeername(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return text;
}

std::string LineSocket::interface() const {
  sockaddr_in own{};
  socklen_t size = sizeof own;
  ifaddrs* all = nullptr;
  if (getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &size) != 0 || getifaddrs(&all) != 0) return "";
  std::string name;
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_LOOPBACK)) continue;
    if (reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr == own.sin_addr.s_addr)
      name = one->ifa_name;
  }
  freeifaddrs(all);
  return name;
}

llvm::Expected<Listener> Listener::open() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(fd, SOMAXCONN) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    return llvm::createStringError("no port can be opened for the agents of other nodes: " + why);
  }
  return Listener(fd, ntohs(address.sin_port));
}

Listener::Listener(Listener&& other) noexcept : fd_(std::exchange(other.fd_, -1)), port_(other.port_) {}

Listener::~Listener() {
  if (fd_ >= 0) ::close(fd_);
}

LineSocket Listener::accept() { return LineSocket(accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)); }

std::vector<std::string> Listener::addresses() const {
  std::vector<std::string> outside, inside;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET || !(one->ifa_flags & IFF_UP)) continue;
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
    (one->ifa_flags & IFF_LOOPBACK ? inside : outside).push_back(fmt::format("{}:{}", text, port_));
  }
  freeifaddrs(all);
  outside.insert(outside.end(), inside.begin(), inside.end());
  return outside;
}

}  // namespace expc::engine
