#pragma once

// Messages of the launch channel (declared in runtime/protocol/trial.h), with the file descriptors that accompany them,
// over a
// SOCK_SEQPACKET socket.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/descriptor.h"

namespace expc::protocol {

/// A message as it was received. It owns its descriptors.
struct Packet {
  std::string text;
  // The event pipe, the log, and the channel by which a process that runs several ranks in turn reports the end of
  // one and gets the next. -1: the message came without.
  base::Descriptor event_fd, log_fd, next_fd;
};

/// Receives a message; with `waits`, blocks until there is one. Nothing once the other end is closed, and also,
/// with errno EAGAIN, if it does not wait and none has come. A message longer than 256 KiB is cut, so it does not
/// parse.
std::optional<Packet> receivePacket(int socket, bool waits = true);

/// Sends a message. `descriptors` are the first ones of a Packet, in its order; they stay the caller's. Returns
/// false, with errno, if it cannot be sent (EPIPE: the other end is closed).
bool sendPacket(int socket, std::string_view text, const std::vector<int>& descriptors = {});

}  // namespace expc::protocol
