// Gloo for tensors on the CPU. This is the only file that sees Gloo's headers. They are Debian's,
// and older than the code inside libtorch_cpu. The things that cross here (a shared pointer to a
// device, options, the group's constructor) agree in both; GlooStore is not used, because its
// layout differs.

#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "runtime/worker/comm/process_group.h"

namespace expc::comm {
namespace {

/// Whether all ranks are on this machine, by the address at which they meet.
bool isLocal(const std::string& address) {
  return address == "127.0.0.1" || address == "localhost" || address == "::1";
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> makeGloo(const c10::intrusive_ptr<c10d::Store>& store, const Rendezvous& rendezvous) {
  auto options = c10d::ProcessGroupGloo::Options::create(rendezvous.timeout);
  // The user's interface wins, as in torch.
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface && *interface) {
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface(interface));
  } else if (isLocal(rendezvous.master_address)) {
    // On one node the loopback always works, while the host's name may resolve to nothing or to an
    // address of another network.
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  } else {
    options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
  }
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, int(rendezvous.rank), int(rendezvous.world_size), options);
}

}  // namespace expc::comm
