#pragma once

// MobileNetV2 as torchvision builds it (docs/semantics.md §1): the same layers, names and initial weights.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/worker/kernels/inverted_residual.h"
#include "runtime/worker/model/named_tensor.h"

namespace expc::model {

struct MobileNetV2Options {
  int64_t classes = 10;
  double width = 1.0;                 // multiplier of all channel counts
  double dropout = 0.2;               // in front of the classifier, in training only
  at::ScalarType dtype = at::kFloat;  // of parameters and running statistics: float or double
  at::Device device = at::kCPU;
  bool channels_last = false;  // 4-D weights in NHWC order
  bool own_kernels = true;     // on the CPU, where they are faster or more exact than torch's: whole blocks if they can
};

class MobileNetV2 {
 public:
  /// Weights are drawn on the CPU in fp32 from a generator seeded with `seed`, in torchvision's order, so that they
  /// equal torchvision's after torch.manual_seed(seed) bit for bit; then they are cast.
  MobileNetV2(const MobileNetV2Options& options, uint64_t seed);

  /// images: [batch, 3, H, W] in the model's dtype, or float under autocast. Returns logits [batch, classes] (in
  /// autocast's dtype under autocast). In training mode batch statistics are used and the running ones updated.
  at::Tensor forward(const at::Tensor& images);

  void setTraining(bool training) { training_ = training; }
  /// Dropout draws from this generator of the model's device rather than from the default one: for models that compute
  /// at the same time in one process.
  void drawDropoutFrom(at::Generator generator) { dropout_generator_ = std::move(generator); }
  bool training() const { return training_; }

  /// Trainable tensors in the order of torchvision's parameters() (158 at every width); they require gradients.
  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  /// Running means, variances and counters (156), in state-dict order. Written by forward() in training mode.
  const std::vector<NamedTensor>& buffers() const { return buffers_; }
  /// Parameters and buffers in torchvision's state-dict order (314).
  const std::vector<NamedTensor>& stateDict() const { return state_; }
  /// The parameters alone, for an optimiser or a reducer.
  std::vector<at::Tensor> parameterTensors() const { return tensorsOf(parameters_); }

 private:
  struct ConvNorm : kernels::ConvNormTensors {
    at::Tensor batches;
    int64_t stride = 1, padding = 0, groups = 1;
  };
  struct Block {
    std::vector<ConvNorm> layers;  // expand (if any), depthwise, project
    bool skip = false;
  };

  ConvNorm makeConvNorm(const std::string& conv, const std::string& norm, int64_t in, int64_t out, int64_t kernel,
                        int64_t stride, int64_t groups);
  void build();
  void initialise(uint64_t seed);
  at::Tensor run(const ConvNorm& layer, const at::Tensor& x) const;
  at::Tensor clamped(const ConvNorm& layer, const at::Tensor& x) const;
  at::Tensor run(const Block& block, const at::Tensor& x) const;
  at::Tensor features(const at::Tensor& images) const;
  at::Tensor fusedFeatures(const at::Tensor& images) const;

  MobileNetV2Options options_;
  at::Tensor drop(const at::Tensor& x) const;

  bool training_ = true;
  at::Generator dropout_generator_;
  ConvNorm first_, last_;
  std::vector<Block> blocks_;
  at::Tensor classifier_weight_, classifier_bias_;
  std::vector<NamedTensor> parameters_, buffers_;
  std::vector<at::Tensor> counters_;  // of training batches: every layer's, which are all alike
  std::vector<NamedTensor> state_;
};

}  // namespace expc::model
