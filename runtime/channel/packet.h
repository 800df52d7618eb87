#pragma once

// One message of the launch channel (runtime/plan/trial.h) and the descriptors that go with it, over a SOCK_SEQPACKET
// socket.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace expc::channel {

/// A message as it was received; owns its descriptors.
class Packet {
 public:
  Packet() = default;
  Packet(Packet&& other) noexcept;
  Packet& operator=(Packet&& other) noexcept;
  ~Packet();

  std::string text;
  int event_fd = -1, log_fd = -1;  // -1: it came without
};

/// Waits for the next message; nothing once the other end is closed. One that was longer than the channel takes is cut:
/// it does not parse.
std::optional<Packet> receivePacket(int socket);

/// `descriptors`: none, or the event pipe and the log, which stay the caller's. False with errno where it cannot be
/// sent: EPIPE where the other end is closed.
bool sendPacket(int socket, std::string_view text, const std::vector<int>& descriptors = {});

}  // namespace expc::channel
