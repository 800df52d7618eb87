// How a training begins and goes on: initial weights from a file, snapshots, and the way back from one.

#include <ATen/ATen.h>

#include <filesystem>

#include "runtime/base/failure.h"
#include "runtime/worker/model/state_file.h"
#include "runtime/worker/workload/image/training.h"

namespace expc::workload::image {
namespace {

constexpr char kGenerators[] = "generators";

using base::failure;

}  // namespace

llvm::Error Training::loadInitialWeights() {
  auto file = io::SafeTensors::open(std::filesystem::path(context_.spec.root) / parameters_.initial_weights);
  if (!file) return failure("initial_weights: {}", llvm::toString(file.takeError()));
  const io::TensorInfo* classifier = file->find("classifier.1.weight");
  const int64_t classes = sets_.train->classes();
  if (classifier && classifier->shape.size() == 2 && classifier->shape[0] != classes)
    return failure(
        "initial_weights: {} tells {} classes apart, the images of {} have {}: use weights that "
        "were trained on as many, or give the file a new classifier",
        file->path(), classifier->shape[0], sets_.train->origin(), classes);
  if (auto error = model::loadState(*file, model_->stateDict()))
    return failure("initial_weights: {} (torchvision's mobilenet_v2 with width_mult {} is wanted)",
                   llvm::toString(std::move(error)), parameters_.width);
  return llvm::Error::success();
}

Snapshot Training::snapshot() {
  Snapshot result;
  result.model = model_->stateDict();
  for (const auto& [name, tensor] : optimizer_->state()) result.rest.push_back({optimizerName(name), tensor});
  std::vector<at::Tensor> states;
  for (const at::Generator& generator : parallel_->generators()) states.push_back(generator.get_state());
  result.rest.push_back({kGenerators, at::stack(context_.communicator.allGather(at::cat(states)))});
  result.done = {steps_done_, 0, scaler_->state()};
  return result;
}

llvm::json::Object Training::counts() const {
  return llvm::json::Object{{"training images", sets_.train->count()}, {"test images", sets_.test->count()}};
}

/// One pass over images that mean nothing. The reducer lays its buckets out anew after its first pass; with three ranks
/// or more their bounds decide the order of sums, and the training that goes on has left its first pass behind.
void Training::rehearse() {
  if (context_.communicator.worldSize() == 1) return;
  const auto device = context_.device.torchDevice();
  const auto images =
      at::zeros({2, 3, parameters_.size, parameters_.size},
                at::TensorOptions(precision::weightType(parameters_.precision)).device(device))
          .contiguous(parameters_.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
  computeGradients(images, at::zeros({2}, at::TensorOptions(at::kLong).device(device)));
  optimizer_->zeroGrad();
}

llvm::Error Training::restore(const io::SafeTensors& model, const io::SafeTensors& rest, const Done& done) {
  rehearse();
  if (auto error = model::loadState(model, model_->stateDict())) return error;

  auto generators_of_all = restoreOptimizer(*optimizer_, rest, kGenerators,
                                            [](const io::TensorInfo& info) { return model::tensorOf(info); });
  if (!generators_of_all) return generators_of_all.takeError();
  const int64_t rank = context_.communicator.rank(), world = context_.communicator.worldSize();
  std::vector<at::Generator> own = parallel_->generators();
  std::vector<int64_t> sizes;
  int64_t bytes = 0;
  for (const at::Generator& generator : own) {
    sizes.push_back(generator.get_state().numel());
    bytes += sizes.back();
  }
  if (!generators_of_all->defined() || generators_of_all->sizes() != at::IntArrayRef({world, bytes}) ||
      generators_of_all->scalar_type() != at::kByte)
    return failure("{}: the state of random numbers is not this build's", rest.path());
  const auto states = (*generators_of_all)[rank].split_with_sizes(sizes);
  for (size_t i = 0; i < own.size(); ++i) own[i].set_state(states[i].clone());

  scaler_->restore(done.scaler);
  steps_done_ = done.steps;
  return llvm::Error::success();
}

}  // namespace expc::workload::image
