#pragma once

// One message of the launch channel (runtime/protocol/trial.h) and the descriptors that go with it, over a
// SOCK_SEQPACKET socket.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/descriptor.h"

namespace expc::protocol {

/// A message as it was received.
struct Packet {
  std::string text;
  // The event pipe, the log, and the channel over which a process that may run several ranks says how one ended and
  // gets the next; -1: it came without.
  base::Descriptor event_fd, log_fd, next_fd;
};

/// Waits for the next message; nothing once the other end is closed, and where it does not wait, with errno at EAGAIN,
/// while none has come. One that was longer than the channel takes is cut: it does not parse.
std::optional<Packet> receivePacket(int socket, bool waits = true);

/// `descriptors`: the first ones of a packet's, which stay the caller's. False with errno where it cannot be
/// sent: EPIPE where the other end is closed.
bool sendPacket(int socket, std::string_view text, const std::vector<int>& descriptors = {});

}  // namespace expc::protocol
