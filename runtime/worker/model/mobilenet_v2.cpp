#include "runtime/worker/model/mobilenet_v2.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/format.h"
#include "runtime/worker/kernels/batch_norm.h"
#include "runtime/worker/kernels/depthwise.h"

namespace expc::model {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr double kMomentum = 0.1;

struct Stage {
  int64_t expansion, channels, repeats, stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

/// D(v) of docs/semantics.md §1: rounds a channel count to a multiple of 8, never below 90 % of it.
int64_t roundChannels(double value) {
  const int64_t rounded = std::max<int64_t>(8, int64_t(value + 4) / 8 * 8);
  return double(rounded) < 0.9 * value ? rounded + 8 : rounded;
}

}  // namespace

MobileNetV2::MobileNetV2(const MobileNetV2Options& options, uint64_t seed) : options_(options) {
  at::NoGradGuard no_grad;
  build();
  initialise(seed);
}

MobileNetV2::ConvNorm MobileNetV2::makeConvNorm(const std::string& conv, const std::string& norm, int64_t in,
                                                int64_t out, int64_t kernel, int64_t stride, int64_t groups) {
  ConvNorm layer;
  layer.stride = stride;
  layer.padding = (kernel - 1) / 2;
  layer.groups = groups;
  const auto type = at::TensorOptions().dtype(options_.dtype).device(options_.device);
  layer.weight = at::empty(
      {out, in / groups, kernel, kernel},
      type.memory_format(options_.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous));
  layer.scale = at::ones({out}, type);
  layer.shift = at::zeros({out}, type);
  layer.mean = at::zeros({out}, type);
  layer.variance = at::ones({out}, type);
  layer.batches = at::zeros({}, type.dtype(at::kLong));
  const auto parameter = [&](const std::string& name, const at::Tensor& tensor) {
    parameters_.push_back({name, tensor});
    state_.push_back({name, tensor});
  };
  const auto buffer = [&](const std::string& name, const at::Tensor& tensor) {
    buffers_.push_back({name, tensor});
    state_.push_back({name, tensor});
    if (tensor.dim() == 0) counters_.push_back(tensor);
  };
  parameter(conv + ".weight", layer.weight);
  parameter(norm + ".weight", layer.scale);
  parameter(norm + ".bias", layer.shift);
  buffer(norm + ".running_mean", layer.mean);
  buffer(norm + ".running_var", layer.variance);
  buffer(norm + ".num_batches_tracked", layer.batches);
  return layer;
}

void MobileNetV2::build() {
  int64_t channels = roundChannels(32 * options_.width);
  first_ = makeConvNorm("features.0.0", "features.0.1", 3, channels, 3, 2, 1);
  int64_t index = 1;
  for (const Stage& stage : kStages) {
    const int64_t out = roundChannels(double(stage.channels) * options_.width);
    for (int64_t repeat = 0; repeat < stage.repeats; ++repeat, ++index) {
      const std::string prefix = fmt::format("features.{}.conv.", index);
      const int64_t stride = repeat == 0 ? stage.stride : 1;
      const int64_t hidden = channels * stage.expansion;
      int64_t part = 0;
      const auto activated = [&](int64_t in, int64_t kernel, int64_t step, int64_t groups) {
        const std::string name = fmt::format("{}{}", prefix, part++);
        return makeConvNorm(name + ".0", name + ".1", in, hidden, kernel, step, groups);
      };
      Block block;
      if (stage.expansion != 1) block.layers.push_back(activated(channels, 1, 1, 1));
      block.layers.push_back(activated(hidden, 3, stride, hidden));
      block.layers.push_back(
          makeConvNorm(fmt::format("{}{}", prefix, part), fmt::format("{}{}", prefix, part + 1), hidden, out, 1, 1, 1));
      block.skip = stride == 1 && channels == out;
      blocks_.push_back(std::move(block));
      channels = out;
    }
  }
  const int64_t last = roundChannels(1280 * std::max(1.0, options_.width));
  last_ =
      makeConvNorm(fmt::format("features.{}.0", index), fmt::format("features.{}.1", index), channels, last, 1, 1, 1);
  const auto type = at::TensorOptions().dtype(options_.dtype).device(options_.device);
  classifier_weight_ = at::empty({options_.classes, last}, type);
  classifier_bias_ = at::zeros({options_.classes}, type);
  for (const auto& [name, tensor] :
       {NamedTensor{"classifier.1.weight", classifier_weight_}, NamedTensor{"classifier.1.bias", classifier_bias_}}) {
    parameters_.push_back({name, tensor});
    state_.push_back({name, tensor});
  }
}

void MobileNetV2::initialise(uint64_t seed) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  // In fp32 whatever the model's type: all precisions of a study start from the same weights.
  const auto draw = [](const at::Tensor& like) {
    return at::empty(like.sizes(), at::TensorOptions().dtype(at::kFloat));
  };
  // torchvision's layers initialise themselves while they are built; only what that takes from the generator matters
  // here.
  const auto consume = [&](const at::Tensor& tensor) { draw(tensor).uniform_(0, 1, generator); };
  for (const NamedTensor& parameter : parameters_)
    if (parameter.tensor.dim() == 4) consume(parameter.tensor);
  consume(classifier_weight_);
  consume(classifier_bias_);

  for (const NamedTensor& parameter : parameters_) {
    const at::Tensor& tensor = parameter.tensor;
    if (tensor.dim() == 4) {
      const double fan_out = double(tensor.size(0) * tensor.size(2) * tensor.size(3));
      tensor.copy_(draw(tensor).normal_(0, std::sqrt(2.0 / fan_out), generator));
    }
  }
  classifier_weight_.copy_(draw(classifier_weight_).normal_(0, 0.01, generator));
  for (const NamedTensor& parameter : parameters_) parameter.tensor.requires_grad_(true);
}

at::Tensor MobileNetV2::run(const ConvNorm& layer, const at::Tensor& x) const {
  const bool own = options_.own_kernels &&
                   kernels::servesDepthwise3x3(x, layer.weight, layer.stride, layer.padding, layer.groups) &&
                   kernels::fasterDepthwise3x3(x, layer.stride);
  const at::Tensor y = own ? kernels::depthwise3x3(x, layer.weight, layer.stride)
                           : at::conv2d(x, layer.weight, {}, layer.stride, layer.padding, 1, layer.groups);
  if (training_ && options_.own_kernels && kernels::servesBatchNorm(y))
    return kernels::trainBatchNorm(y, layer.scale, layer.shift, layer.mean, layer.variance, kMomentum, kEpsilon);
  return at::batch_norm(y, layer.scale, layer.shift, layer.mean, layer.variance, training_, kMomentum, kEpsilon,
                        /*cudnn_enabled=*/true);
}

at::Tensor MobileNetV2::drop(const at::Tensor& x) const {
  if (!training_ || options_.dropout <= 0) return x;
  if (!dropout_generator_.defined()) return at::dropout(x, options_.dropout, true);
  // The same draws as at::dropout's.
  const auto kept =
      at::empty(x.sizes(), x.options().dtype(at::kBool)).bernoulli_(1 - options_.dropout, dropout_generator_);
  return x.mul(kept).mul(1 / (1 - options_.dropout));
}

at::Tensor MobileNetV2::clamped(const ConvNorm& layer, const at::Tensor& x) const {
  // ReLU6. Not in place: that would clone its input for the backward pass.
  return at::hardtanh(run(layer, x), 0, 6);
}

at::Tensor MobileNetV2::run(const Block& block, const at::Tensor& x) const {
  at::Tensor y = x;
  for (size_t i = 0; i + 1 < block.layers.size(); ++i) y = clamped(block.layers[i], y);
  y = run(block.layers.back(), y);
  return block.skip ? x + y : y;
}

/// Operator by operator; [B, C].
at::Tensor MobileNetV2::features(const at::Tensor& images) const {
  at::Tensor x = clamped(first_, images);
  for (const Block& block : blocks_) x = run(block, x);
  return at::adaptive_avg_pool2d(clamped(last_, x), {1, 1}).flatten(1);
}

/// The same in training with a block as one operator.
at::Tensor MobileNetV2::fusedFeatures(const at::Tensor& images) const {
  const kernels::NormOptions options{kMomentum, kEpsilon};
  at::Tensor x;
  if (blocks_.front().skip) {  // only in the narrowest networks
    x = run(blocks_.front(), clamped(first_, images));
  } else {
    // This block has no expansion: the first convolution takes its place.
    const auto& layers = blocks_.front().layers;
    x = kernels::firstBlocks(images, first_, layers[0], layers[1], options);
  }
  for (size_t i = 1; i < blocks_.size(); ++i) {
    const auto& layers = blocks_[i].layers;
    x = kernels::invertedResidual(x, layers[0], layers[1], layers[2], layers[1].stride, blocks_[i].skip, options);
  }
  return kernels::lastPooled(x, last_, options);
}

at::Tensor MobileNetV2::forward(const at::Tensor& images) {
  if (training_) {
    at::NoGradGuard no_grad;
    at::_foreach_add_(counters_, 1);
  }
  // Where the last layers have one pixel in all there is no variance: torch's operator says so.
  const bool fused = training_ && options_.own_kernels && !images.requires_grad() &&
                     kernels::servesBlocks(images, options_.dtype) &&
                     (images.size(0) > 1 || images.size(2) > 32 || images.size(3) > 32);
  at::Tensor x = fused ? fusedFeatures(images) : features(images);
  x = drop(x);
  return at::linear(x, classifier_weight_, classifier_bias_);
}

}  // namespace expc::model
