#include "runtime/worker/workload/heat_up.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <chrono>

namespace expc::workload {
namespace {

using Clock = std::chrono::steady_clock;

// Large enough to fill a GPU, small enough for one whose memory is mostly taken: 3 x 32 MiB.
constexpr int64_t kSize = 4096;
constexpr int64_t kSizeOnCpu = 512;
// Products that are queued before the host waits: the queue never runs dry, and the end is never far.
constexpr int kQueued = 16;

}  // namespace

llvm::Error heatUp(device::Device& device, const plan::TrialSpec& spec) {
  const std::optional<double> seconds = spec.settings.getNumber("seconds");
  if (!seconds || *seconds < 0) return llvm::createStringError("a heat-up needs its seconds");
  at::NoGradGuard no_grad;
  const c10::Device place = device.torchDevice();
  const int64_t size = place.is_cpu() ? kSizeOnCpu : kSize;
  const auto options = at::TensorOptions(at::kBFloat16).device(place);
  // Random ones: constant operands flip few bits, which takes less power and leaves the clocks higher.
  const at::Tensor a = at::randn({size, size}, options), b = at::randn({size, size}, options);
  at::Tensor c = at::empty({size, size}, options);
  device.synchronize();
  const auto end = Clock::now() + std::chrono::duration<double>(*seconds);
  while (Clock::now() < end) {
    for (int i = 0; i < kQueued; ++i) at::mm_out(c, a, b);
    device.synchronize();
  }
  return llvm::Error::success();
}

}  // namespace expc::workload
