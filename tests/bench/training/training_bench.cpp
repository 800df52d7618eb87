// Times training steps of MobileNetV2 on random images, without loading; training.py's own side.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <string>

#include "runtime/base/format.h"
#include "runtime/worker/device/host.h"
#include "runtime/worker/kernels/inverted_residual_loops.h"
#include "tests/bench/program.h"
#include "tests/bench/training/network.h"

using namespace expc;

namespace {

/// The blocks run with the loops of that name from now on; false if this processor has none.
template <typename S>
bool choose(const std::string& name) {
  for (const kernels::BlockLoops<S>* const* loops = kernels::allLoops<kernels::BlockLoops<S>>(); *loops != nullptr;
       ++loops) {
    if (name != (*loops)->name) continue;
    kernels::chooseLoops<kernels::BlockLoops<S>>(*loops);
    return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Options option({{"size", "100"},
                         {"batch", "32"},
                         {"threads", "2"},
                         {"precision", "fp32"},
                         {"layout", "nhwc"},
                         {"kernels", "fused"},
                         {"width", "1"},
                         {"loops", "best"}});
  if (!option.read(argc, argv)) return 2;
  device::keepFreedMemory();  // as the worker does
  at::set_num_threads(int(option.number("threads")));
  at::manual_seed(0);
  const auto precision = bench::precisionOf(option["precision"]);
  if (!precision) return 2;
  const std::string& loops = option["loops"];
  const bool chosen[] = {choose<float>(loops), choose<double>(loops), choose<kernels::Bf16>(loops)};
  if (loops != "best" && !chosen[0] && !chosen[1] && !chosen[2]) {
    fmt::print(stderr, "step: this processor has no loops '{}'\n", loops);
    return 2;
  }
  model::MobileNetV2Options options;
  options.width = std::stod(option["width"]);
  options.dtype = precision::weightType(*precision);
  options.channels_last = option["layout"] == "nhwc";
  options.own_kernels = option["kernels"] == "fused";
  bench::Network network(options, *precision);
  const int64_t batch = option.number("batch"), size = option.number("size");
  const auto images =
      at::randn({batch, 3, size, size}, at::TensorOptions(options.dtype))
          .contiguous(options.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
  const auto labels = at::randint(options.classes, {batch}, at::TensorOptions(at::kLong));
  bench::serve([&] { network.step(images, labels); });
}
