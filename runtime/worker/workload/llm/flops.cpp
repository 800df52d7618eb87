#include "runtime/worker/workload/llm/flops.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>

namespace expc::workload::llm {

NeededFlops::NeededFlops(const llama::Decoder& decoder) {
  const llama::Config& config = decoder.config();
  double weights = 0, adapters = 0;
  for (const llama::TensorSpec& spec : llama::weightSpecs(config))
    if (spec.role != llama::Role::Embedding && spec.role != llama::Role::Norm)
      weights += static_cast<double>(spec.elements());
  if (config.tied) weights += static_cast<double>(config.vocabulary * config.width);
  for (const auto& adapter : decoder.adapters()) adapters += static_cast<double>(adapter.tensor.numel());
  per_token_ = 2 * weights * (decoder.options().lora ? 2 : 3) + 2 * adapters * 3;
  // Queries with keys, and weights with values.
  per_seen_ = 4.0 * static_cast<double>(config.queryWidth() * config.layers) * 3;
}

at::Tensor matrixOperand(int64_t size, const at::TensorOptions& options) { return at::randn({size, size}, options); }

double matrixRate(at::ScalarType dtype, at::Device device, const std::function<void()>& synchronize) {
  using Clock = std::chrono::steady_clock;
  at::NoGradGuard no_grad;
  const int64_t size = device.is_cpu() ? 1024 : 8192;
  const double work = 2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
  try {
    const auto options = at::TensorOptions(dtype).device(device);
    const at::Tensor a = matrixOperand(size, options), b = matrixOperand(size, options);
    at::Tensor c = at::mm(a, b);  // what a first product sets up is not counted
    synchronize();
    double best = 0;
    const auto begin = Clock::now();
    for (int i = 0; i < 50 && (i < 2 || Clock::now() - begin < std::chrono::milliseconds(100)); ++i) {
      const auto start = Clock::now();
      at::mm_out(c, a, b);
      synchronize();
      best = std::max(best, work / std::chrono::duration<double>(Clock::now() - start).count());
    }
    return best;
  } catch (const c10::OutOfMemoryError&) {
    return 0;
  }
}

}  // namespace expc::workload::llm
