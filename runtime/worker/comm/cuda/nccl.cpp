// NCCL for tensors on a GPU, with torch's own handling of failures turned off. torch would abort
// the process a minute after a failure, without a word to the engine; here a Watch asks NCCL's
// state ten times a second and reports what it finds. Three signs count: an error or timeout that
// torch has noted, a graph of which nothing ends, and a watchdog thread of torch that no longer
// comes round.

#include "runtime/worker/comm/cuda/nccl.h"

#include <c10/util/env.h>
#include <nccl.h>

#include <torch/csrc/distributed/c10d/NCCLUtils.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/format.h"
#include "runtime/worker/comm/process_group.h"

namespace expc::comm {
namespace {

/// torch's process group, which also tells whether its watchdog thread still makes progress.
class Nccl final : public c10d::ProcessGroupNCCL {
 public:
  using ProcessGroupNCCL::ProcessGroupNCCL;
  uint64_t heartbeat() const { return getWatchdogHeartbt(); }
};

/// Sets torch's variables so that it only notes failures. Variables that the user has set stay.
void leaveFailuresToUs() {
  constexpr std::pair<const char*, const char*> kSettings[] = {
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"},  // notes the error and ends nothing
      {"TORCH_NCCL_RETHROW_CUDA_ERRORS", "0"},   // an error of CUDA is thrown in the training thread, too
      {"TORCH_NCCL_ENABLE_MONITORING", "0"},     // aborts if the watchdog is stuck; failureOf() reports that
      {"TORCH_NCCL_DUMP_ON_TIMEOUT", "0"}};      // writes a file per rank to /tmp
  for (const auto& [name, value] : kSettings)
    if (!c10::utils::has_env(name)) c10::utils::set_env(name, value, /*overwrite=*/false);
}

/// Returns a function for the watch: it gives the reason if a collective has failed, else "".
/// `queued` must outlive the watch.
std::function<std::string()> failureOf(c10::intrusive_ptr<Nccl> nccl, const Queued& queued,
                                       std::chrono::milliseconds timeout) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout).count();
  return [=, &queued, beat = uint64_t{0}, since = base::Clock::now()]() mutable -> std::string {
    switch (nccl->getError()) {
      case c10d::ErrorType::TIMEOUT:
        return fmt::format("NCCL has not ended it after {} s", seconds);
      case c10d::ErrorType::COMM_ERROR:
      case c10d::ErrorType::REMOTE_ERROR:
        return "NCCL reports that the connection is broken";
      case c10d::ErrorType::SUCCESS:
        break;
    }
    if (queued.stuckFor() > timeout) return fmt::format("none that was queued has ended for {} s", seconds);
    // torch's watchdog asks CUDA about events, and that call may hang too; then its heartbeat
    // stops. 0 means that the user's settings do without a watchdog.
    const uint64_t now = nccl->heartbeat();
    if (now == 0 || now != beat) {
      beat = now;
      since = base::Clock::now();
      return "";
    }
    if (base::Clock::now() - since < timeout) return "";
    return fmt::format("CUDA has not answered for {} s", seconds);
  };
}

}  // namespace

std::string ncclMismatch(int loaded) {
  if (loaded == NCCL_VERSION_CODE) return "";
  const auto text = [](int code) { return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100); };
  return fmt::format(
      "this worker is built for NCCL {}, but the system loaded {}: ncclConfig_t differs between versions. Install "
      "libraries and headers together (tools/setup --gpu), and remove another libnccl.so.2 from LD_LIBRARY_PATH and "
      "LD_PRELOAD",
      text(NCCL_VERSION_CODE), text(loaded));
}

void addNccl(Communicator& communicator, int index) {
  const auto [major, minor, patch] = c10d::getNcclVersionTuple();
  if (const std::string why = ncclMismatch(NCCL_VERSION(major, minor, patch)); !why.empty())
    throw std::runtime_error(why);
  leaveFailuresToUs();
  Group& group = communicator.group();
  guarded(group, "the set-up of NCCL", [&] {
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = group.rendezvous.timeout;
    auto store = c10::make_intrusive<c10d::PrefixStore>("nccl", group.store);
    auto nccl = c10::make_intrusive<Nccl>(store, int(group.rendezvous.rank), int(group.rendezvous.world_size), options);
    // Bind the group and not only the backend: the group hands its own device on to its backends,
    // and would overwrite one bound to NCCL alone.
    group.processes->setBoundDeviceId(at::Device(at::kCUDA, c10::DeviceIndex(index)));
    group.processes->setBackend(c10::DeviceType::CUDA, c10d::ProcessGroup::BackendType::NCCL, nccl);
    group.watch = std::make_unique<Watch>(group.rendezvous, failureOf(nccl, group.queued, group.rendezvous.timeout),
                                          group.on_lost);
  });
}

}  // namespace expc::comm
