// Times training steps of MobileNetV2 on random images, without loading. Reads a number of steps from each line of
// standard input and answers with a JSON array of [seconds, seconds of processor time], so that a script can take turns
// with other programs.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <ctime>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "runtime/worker/device/host.h"
#include "runtime/worker/kernels/inverted_residual_loops.h"
#include "tests/bench/training/network.h"

using namespace expc;

namespace {

/// The blocks run with the loops of that name from now on; false if this processor has none.
template <typename S>
bool choose(const std::string& name) {
  for (const kernels::BlockLoops<S>* const* loops = kernels::allBlockLoops<S>(); *loops != nullptr; ++loops) {
    if (name != (*loops)->name) continue;
    kernels::chooseBlockLoops<S>(*loops);
    return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> option{{"size", "100"},       {"batch", "32"},    {"threads", "2"},
                                            {"precision", "fp32"}, {"layout", "nhwc"}, {"kernels", "fused"},
                                            {"width", "1"},        {"loops", "best"}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = std::string(argv[i]).substr(2);
    if (option.count(name) == 0) {
      fmt::print(stderr, "step: no option --{}\n", name);
      return 2;
    }
    option[name] = argv[i + 1];
  }
  device::keepFreedMemory();  // as the worker does
  at::set_num_threads(std::stoi(option["threads"]));
  at::manual_seed(0);
  const auto precision = precision::precisionFromString(option["precision"]);
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
  const int64_t batch = std::stoll(option["batch"]), size = std::stoll(option["size"]);
  const auto images =
      at::randn({batch, 3, size, size}, at::TensorOptions(options.dtype))
          .contiguous(options.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
  const auto labels = at::randint(options.classes, {batch}, at::TensorOptions(at::kLong));

  for (std::string line; std::getline(std::cin, line);) {
    std::vector<std::string> seconds;
    for (int i = std::stoi(line); i > 0; --i) {
      const auto start = std::chrono::steady_clock::now();
      const std::clock_t used = std::clock();
      network.step(images, labels);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      seconds.push_back(
          fmt::format("[{}, {}]", took.count(), static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC));
    }
    fmt::print("[{}]\n", fmt::join(seconds, ", "));
    std::fflush(stdout);
  }
}
