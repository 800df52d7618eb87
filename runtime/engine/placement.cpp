#include "runtime/engine/placement.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace expc::engine {
namespace {

/// A port that nobody listens on now. Another process may take it before rank 0 does: that fails the attempt, and the
/// next has another port.
int freePort() {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 29500;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  int port = 29500;  // PyTorch's
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    port = ntohs(address.sin_port);
  }
  close(fd);
  return port;
}

std::vector<std::string> rankEnvironment(unsigned rank, unsigned world_size, int port, const std::string& devices) {
  return {fmt::format("RANK={}", rank),
          fmt::format("WORLD_SIZE={}", world_size),
          fmt::format("LOCAL_RANK={}", rank),
          fmt::format("LOCAL_WORLD_SIZE={}", world_size),
          "MASTER_ADDR=127.0.0.1",
          fmt::format("MASTER_PORT={}", port),
          "CUDA_DEVICE_ORDER=PCI_BUS_ID",
          "CUDA_VISIBLE_DEVICES=" + devices};
}

}  // namespace

machine::Place placeOf(const llvm::json::Object& parameters) {
  const auto name = parameters.getString("numa").value_or("near");
  return name == "far" ? machine::Place::Far : name == "any" ? machine::Place::Any : machine::Place::Near;
}

std::string placeNote(const machine::Machine& machine, const llvm::json::Object& parameters) {
  if (placeOf(parameters) != machine::Place::Any || machine.nodes.size() > 1) return "";
  return "numa = any: this machine has one memory node, so all that differs from near is that ranks may move between "
         "cores";
}

void placeRanks(TrialRequest& request, const machine::Machine& machine, const std::vector<machine::Slot>& all,
                const std::vector<unsigned>& own, bool one_process) {
  plan::TrialSpec& spec = request.spec;
  spec.world_size = one_process ? 1 : own.size();
  const int port = freePort();
  std::string devices;  // of the one process, in the order of its slots
  for (unsigned rank = 0; rank < own.size(); ++rank) {
    // A place that there is not was refused before.
    const machine::Slot& given = all[own[rank]];
    const machine::Slot slot = machine::placed(machine, given, placeOf(spec.parameters)).value_or(given);
    spec.slots.push_back(slot.toJson());
    if (!one_process) {
      request.environment.push_back(rankEnvironment(rank, own.size(), port, slot.gpu ? slot.uuid : ""));
    } else if (slot.gpu) {
      devices += (devices.empty() ? "" : ",") + slot.uuid;
    }
  }
  if (one_process) request.environment.push_back(rankEnvironment(0, 1, port, devices));
}

}  // namespace expc::engine
