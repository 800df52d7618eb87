// The one place that sees Gloo's headers. They are Debian's, older than the code inside libtorch_cpu; what crosses here
// (a shared pointer to a device, options, the group's constructor) agrees in both. GlooStore is not touched: its layout
// differs.

#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "runtime/worker/comm/process_group.h"

namespace expc::comm {
namespace {

bool isLocal(const std::string& address) {
  return address == "127.0.0.1" || address == "localhost" || address == "::1";
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> makeGloo(const c10::intrusive_ptr<c10d::Store>& store, const Rendezvous& rendezvous) {
  auto options = c10d::ProcessGroupGloo::Options::create(rendezvous.timeout);
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface && *interface) {
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface(interface));
  } else if (isLocal(rendezvous.master_address)) {
    // On one node the loopback always works; a host name may resolve to nothing, or to an address of another network.
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  } else {
    options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
  }
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, static_cast<int>(rendezvous.rank),
                                                     static_cast<int>(rendezvous.world_size), options);
}

}  // namespace expc::comm
