#include "runtime/worker/profile/nvtx.h"

#ifdef EXPC_NVTX
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <string>
#endif

namespace expc::profile::nvtx {

#ifdef EXPC_NVTX

namespace {

/// The domain "expc" with its names registered, so that a tool gets a pointer for each range and copies no text.
struct Names {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("expc");
  std::array<nvtxEventAttributes_t, kPhases> attributes{};

  Names() {
    for (size_t i = 0; i < kPhases; ++i) {
      const std::string name(toString(static_cast<Phase>(i)));
      attributes[i].version = NVTX_VERSION;
      attributes[i].size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
      attributes[i].messageType = NVTX_MESSAGE_TYPE_REGISTERED;
      attributes[i].message.registered = nvtxDomainRegisterStringA(domain, name.c_str());
    }
  }
};

const Names& names() {
  static const Names all;
  return all;
}

}  // namespace

void push(Phase phase) { nvtxDomainRangePushEx(names().domain, &names().attributes[static_cast<size_t>(phase)]); }
void pop() { nvtxDomainRangePop(names().domain); }
uint64_t start(Phase phase) {
  return nvtxDomainRangeStartEx(names().domain, &names().attributes[static_cast<size_t>(phase)]);
}
void end(uint64_t id) { nvtxDomainRangeEnd(names().domain, id); }

#else

void push(Phase) {}
void pop() {}
uint64_t start(Phase) { return 0; }
void end(uint64_t) {}

#endif

}  // namespace expc::profile::nvtx
