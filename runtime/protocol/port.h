#pragma once

// Finds a port for ranks that must meet at one, before any of them listens there.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <random>

namespace expc::protocol {

/// Whether a listener can be bound to the TCP port here now. With `lingering` a port whose last connections are still
/// being closed is free, as it is to servers that ask for SO_REUSEADDR.
inline bool canListen(uint16_t port, bool lingering) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const int reuse = lingering;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(port);
  const bool free = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return free;
}

/// A TCP port that nobody is bound to here now; 0 if there is none. It lies below those that the kernel gives to
/// connections by itself (/proc/sys/net/ipv4/ip_local_port_range), so that none of these takes it before its listener
/// does; another listener may.
inline uint16_t freePort() {
  constexpr uint16_t kFirst = 20000, kCount = 12000;
  std::random_device random;
  for (unsigned attempt = 0; attempt < 1000; ++attempt) {
    const auto port = uint16_t(kFirst + random() % kCount);
    if (canListen(port, false)) return port;
  }
  return 0;
}

}  // namespace expc::protocol
