#pragma once

// MobileNetV2 with SGD in fp32 or another precision: what the benchmarks here train.

#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/worker/model/mobilenet_v2.h"
#include "runtime/worker/model/optimizer.h"
#include "runtime/worker/model/precision.h"

namespace expc::bench {

inline std::optional<precision::Precision> precisionOf(const std::string& text) {
  using precision::Precision;
  static const std::map<std::string, Precision> kAll{{"fp64", Precision::Fp64},
                                                     {"fp32", Precision::Fp32},
                                                     {"tf32", Precision::Tf32},
                                                     {"bf16", Precision::Bf16},
                                                     {"fp16", Precision::Fp16}};
  const auto found = kAll.find(text);
  return found == kAll.end() ? std::nullopt : std::optional(found->second);
}

class Network {
 public:
  Network(const model::MobileNetV2Options& options, precision::Precision precision)
      : precision_(precision),
        net_(options, 0),
        optimizer_(optimizer::makeSgd(net_.parameterTensors(), {.learning_rate = 1e-3, .momentum = 0.9})) {}

  /// Forward, backward and the optimiser's step on images [N, 3, H, W] and labels [N].
  double step(const at::Tensor& images, const at::Tensor& labels) {
    optimizer_->zeroGrad();
    at::Tensor loss;
    {
      const precision::Autocast autocast(at::kCPU, precision::autocastType(precision_));
      loss = at::cross_entropy_loss(net_.forward(images), labels);
    }
    loss.backward();
    optimizer_->step();
    return loss.item<double>();
  }

 private:
  precision::Precision precision_;
  model::MobileNetV2 net_;
  std::unique_ptr<optimizer::Optimizer> optimizer_;
};

}  // namespace expc::bench
