#include "runtime/protocol/packet.h"

#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <memory>

namespace expc::protocol {
namespace {

/// The largest message: a launch with all its arguments.
constexpr size_t kMaxPacket = 256 << 10;
constexpr size_t kDescriptors = 3;

}  // namespace

std::optional<Packet> receivePacket(int socket, bool waits) {
  // Kept per thread: the buffer is too large for a stack, and messages are received often.
  static thread_local const auto buffer = std::make_unique_for_overwrite<char[]>(kMaxPacket);
  iovec data{buffer.get(), kMaxPacket};
  alignas(cmsghdr) char control[CMSG_SPACE(kDescriptors * sizeof(int))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size = 0;
  while ((size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (waits ? 0 : MSG_DONTWAIT))) < 0 && errno == EINTR) {
  }
  // A closed sequenced-packet socket gives an empty message; messages are never empty.
  if (size == 0) errno = EPIPE;
  if (size <= 0) return std::nullopt;
  Packet packet;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int fds[kDescriptors] = {-1, -1, -1};
    // At most three descriptors fit; a longer control message is cut, by the kernel too.
    std::memcpy(fds, CMSG_DATA(part), std::min<size_t>(part->cmsg_len - CMSG_LEN(0), sizeof fds));
    packet.event_fd = base::Descriptor(fds[0]);
    packet.log_fd = base::Descriptor(fds[1]);
    packet.next_fd = base::Descriptor(fds[2]);
  }
  packet.text.assign(buffer.get(), size_t(size));
  return packet;
}

bool sendPacket(int socket, std::string_view text, const std::vector<int>& descriptors) {
  iovec data{const_cast<char*>(text.data()), text.size()};
  // The control buffer must hold a whole header, aligned (cmsg(3)).
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kDescriptors * sizeof(int))] = {};
  assert(descriptors.size() <= kDescriptors && "there is no room for more");
  if (!descriptors.empty()) {
    const size_t size = descriptors.size() * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(part), descriptors.data(), size);
  }
  // MSG_NOSIGNAL: a closed socket gives EPIPE, not SIGPIPE.
  ssize_t sent = 0;
  while ((sent = sendmsg(socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
  }
  return sent >= 0;
}

}  // namespace expc::protocol
