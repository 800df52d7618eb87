// The strategies. Ranks is thin, because comm::DataParallel does the work; Replicas does by hand what DataParallel
// does, with threads that stay. Autograd's graphs are cut between devices: each replica has a graph of its own, and
// the loss a graph from the gathered logits.

#include "runtime/worker/workload/image/parallel.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>

#include "runtime/data/images/sampler.h"
#include "runtime/worker/comm/data_parallel.h"
#include "runtime/worker/model/precision.h"
#include "runtime/worker/profile/launching_threads.h"
#include "runtime/worker/profile/range.h"
#include "runtime/worker/serve/child.h"

namespace expc::workload::image {
namespace {

/// `drawn` reordered so that a contiguous slice of each global batch is one device's share: first device 0's images
/// (every `devices`-th of the draw), then device 1's, …. A tail that does not divide evenly stays as it is.
std::vector<int64_t> byDevice(const std::vector<int64_t>& drawn, int64_t devices, int64_t batch) {
  std::vector<int64_t> result;
  result.reserve(drawn.size());
  const auto count = std::ssize(drawn);
  for (int64_t begin = 0; begin < count; begin += batch * devices) {
    const int64_t end = std::min(count, begin + batch * devices);
    if ((end - begin) % devices != 0) {
      result.insert(result.end(), drawn.begin() + begin, drawn.begin() + end);
      continue;
    }
    for (int64_t device = 0; device < devices; ++device) {
      for (int64_t i = begin + device; i < end; i += devices) result.push_back(drawn[i]);
    }
  }
  return result;
}

/// Whether torch.chunk gives some device exactly one of `tail` images.
bool leavesSingle(int64_t tail, int64_t devices) {
  if (tail == 0) return false;
  const int64_t each = (tail + devices - 1) / devices;
  return each == 1 || tail % each == 1;
}

/// Strategies ddp and ddp_ds: one device per process.
class Ranks final : public Parallel {
 public:
  Ranks(comm::Communicator& communicator, model::MobileNetV2& model) : model_(model) {
    // Construction broadcasts rank 0's parameters and buffers, as DistributedDataParallel does.
    if (communicator.worldSize() > 1)
      parallel_.emplace(communicator, model.parameterTensors(), model::tensorsOf(model.buffers()));
  }

  at::Tensor forward(const at::Tensor& images) override {
    if (parallel_) parallel_->beforeForward();
    return model_.forward(images);
  }
  void backward(const at::Tensor& loss) override {
    if (parallel_) parallel_->beforeBackward();
    loss.backward();
  }
  void settle() override {
    if (parallel_) parallel_->settle();
  }
  void beginEvaluation() override {
    if (parallel_) parallel_->shareBuffers();
  }
  at::Tensor evaluate(const at::Tensor& images) override {
    at::NoGradGuard no_grad;
    model_.setTraining(false);
    auto logits = model_.forward(images);
    model_.setTraining(true);
    return logits;
  }
  std::vector<at::Generator> generators() const override {
    std::vector<at::Generator> result = {at::detail::getDefaultCPUGenerator()};
    const c10::Device device = model_.parameterTensors().front().device();
    if (!device.is_cpu()) result.push_back(at::globalContext().defaultGenerator(device));
    return result;
  }

 private:
  model::MobileNetV2& model_;
  std::optional<comm::DataParallel> parallel_;  // none for a single rank, which has nobody to share with
};

/// Tensors of one type joined to one, so that they travel between devices in one copy.
at::Tensor flattened(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> parts;
  // Take elements in the order in which they lie in memory, so that channels-last weights are not permuted.
  for (const auto& tensor : tensors)
    parts.push_back(tensor.is_non_overlapping_and_dense() ? tensor.as_strided({tensor.numel()}, {1})
                                                          : tensor.contiguous().view(-1));
  return at::cat(parts);
}

/// The inverse: parts of `flat` with the shapes and strides of `like`.
std::vector<at::Tensor> partsOf(const at::Tensor& flat, const std::vector<at::Tensor>& like) {
  std::vector<at::Tensor> result;
  int64_t at = 0;
  for (const auto& tensor : like) {
    result.push_back(flat.narrow(0, at, tensor.numel()).as_strided(tensor.sizes(), tensor.strides()));
    at += tensor.numel();
  }
  return result;
}

/// Strategy dp. The first replica is the model itself; the others are copies that are overwritten in each forward
/// pass.
class Replicas final : public Parallel {
 public:
  Replicas(model::MobileNetV2& first, const model::MobileNetV2Options& options, std::vector<ReplicaPlace> places,
           std::optional<c10::ScalarType> autocast, uint64_t seed)
      : places_(std::move(places)), autocast_(autocast), threads_(places_) {
    models_.push_back(&first);
    for (size_t i = 1; i < places_.size(); ++i) {
      model::MobileNetV2Options own = options;
      own.device = places_[i].device;
      // Values do not matter: the first forward pass overwrites them.
      own_.push_back(std::make_unique<model::MobileNetV2>(own, seed));
      models_.push_back(own_.back().get());
    }
    for (size_t i = 0; i < places_.size(); ++i) {
      weights_.push_back(models_[i]->parameterTensors());
      auto& state = states_.emplace_back();
      for (const auto& weight : weights_.back()) state.values.push_back(weight.detach());
      // Counters (int64) cannot travel with the floating-point values, so there are two lists.
      for (const auto& buffer : models_[i]->buffers())
        (buffer.tensor.scalar_type() == at::kLong ? state.counters : state.values).push_back(buffer.tensor);
      generators_.push_back(generatorOf(places_[i].device, seed + i));
      if (places_[i].device.is_cpu()) models_[i]->drawDropoutFrom(generators_.back());
    }
    logits_.resize(places_.size());
  }

  at::Tensor forward(const at::Tensor& images) override {
    auto outputs = apply(images, /*training=*/true);
    // Detach the logits from the replicas' graphs: backward() continues in each thread from the gathered gradient.
    std::vector<at::Tensor> detached;
    for (const auto& output : outputs) detached.push_back(output.detach());
    logits_ = std::move(outputs);
    gathered_ = gather(detached).requires_grad_(true);
    return gathered_;
  }

  void backward(const at::Tensor& loss) override {
    // First the loss's own graph down to the gathered logits, then each replica's graph in its thread.
    loss.backward();
    const size_t used = logits_.size();
    std::vector<int64_t> sizes;
    for (const auto& output : logits_) sizes.push_back(output.size(0));
    // Each replica gets the rows of the gradient that belong to its logits.
    const auto gradients = gathered_.grad().split_with_sizes(sizes);
    threads_.run(used, [&](size_t i) {
      const c10::OptionalDeviceGuard guard(places_[i].device);
      torch::autograd::backward({logits_[i]}, {gradients[i].to(places_[i].device, /*non_blocking=*/true)});
    });
    logits_.clear();
    gathered_ = at::Tensor();
    sumOnFirst(used);
  }

  void beginEvaluation() override {}
  at::Tensor evaluate(const at::Tensor& images) override { return gather(apply(images, /*training=*/false)); }
  std::vector<at::Generator> generators() const override { return generators_; }

 private:
  /// A replica's tensors that are copied, by type.
  struct State {
    std::vector<at::Tensor> values, counters;
  };

  /// The CPU has one default generator for all threads, so each replica on it gets its own; a GPU has one per device.
  static at::Generator generatorOf(c10::Device device, uint64_t seed) {
    if (device.is_cpu()) return at::make_generator<at::CPUGeneratorImpl>(seed);
    at::Generator generator = at::globalContext().defaultGenerator(device);
    std::lock_guard lock(generator.mutex());
    generator.set_current_seed(seed);
    return generator;
  }

  /// Scatters the batch, copies the first replica's state, and computes. Returns each replica's logits.
  std::vector<at::Tensor> apply(const at::Tensor& images, bool training) {
    // torch.chunk may give fewer shards than replicas; only as many threads run then.
    const auto shards = images.chunk(std::ssize(places_), 0);
    at::Tensor values, counters;  // joined only if they leave the device
    if (shards.size() > 1 && !places_[0].device.is_cpu()) {
      at::NoGradGuard no_grad;
      values = flattened(states_[0].values);
      counters = flattened(states_[0].counters);
    }
    std::vector<at::Tensor> outputs(shards.size());
    threads_.run(shards.size(), [&](size_t i) {
      const c10::OptionalDeviceGuard guard(places_[i].device);
      if (i > 0) receive(i, values, counters);
      const at::AutoGradMode gradients(training);
      // Gradient mode and autocast belong to the thread, so each thread sets its own.
      const precision::Autocast autocast(places_[i].device.type(), autocast_);
      models_[i]->setTraining(training);
      const auto shard = shards[i].to(places_[i].device, /*non_blocking=*/true);
      outputs[i] = models_[i]->forward(shard);
      models_[i]->setTraining(true);
    });
    return outputs;
  }

  /// Overwrites replica i's state with the first one's. Runs in its thread, so copies to different devices overlap.
  void receive(size_t i, const at::Tensor& values, const at::Tensor& counters) {
    at::NoGradGuard no_grad;
    const bool flat = values.defined();
    const auto take = [&](std::vector<at::Tensor>& own, const std::vector<at::Tensor>& of, const at::Tensor& whole) {
      at::_foreach_copy_(own, flat ? partsOf(whole.to(places_[i].device, /*non_blocking=*/true), of) : of);
    };
    take(states_[i].values, states_[0].values, values);
    take(states_[i].counters, states_[0].counters, counters);
  }

  /// The logits of all replicas on the first device.
  at::Tensor gather(std::vector<at::Tensor> outputs) const {
    for (auto& output : outputs) output = output.to(places_[0].device);
    return outputs.size() == 1 ? outputs[0] : at::cat(outputs);
  }

  /// Adds up the replicas' gradients on the first device, in their order, so that the sum is the same each time.
  void sumOnFirst(size_t used) {
    const profile::Range range(profile::Phase::AllReduce);
    at::NoGradGuard no_grad;
    std::vector<at::Tensor> sums;
    for (const auto& weight : weights_[0]) sums.push_back(weight.grad());
    for (size_t i = 1; i < used; ++i) {
      // Gradients of other replicas end here: taken, cleared, and added in one operation for all tensors.
      std::vector<at::Tensor> addends;
      for (auto& weight : weights_[i]) {
        addends.push_back(weight.grad());
        // Only the first replica's gradients accumulate; the others start afresh.
        weight.mutable_grad() = at::Tensor();
      }
      if (!places_[i].device.is_cpu()) addends = partsOf(flattened(addends).to(places_[0].device), addends);
      at::_foreach_add_(sums, addends);
    }
  }

  std::vector<ReplicaPlace> places_;
  std::optional<c10::ScalarType> autocast_;
  std::vector<std::unique_ptr<model::MobileNetV2>> own_;
  std::vector<model::MobileNetV2*> models_;  // the first one belongs to the caller
  std::vector<std::vector<at::Tensor>> weights_;
  std::vector<State> states_;
  std::vector<at::Generator> generators_;
  std::vector<at::Tensor> logits_;  // the last forward pass's, with the replicas' graphs
  at::Tensor gathered_;
  ReplicaThreads threads_;
};

}  // namespace

Portion Portion::of(Strategy strategy, int64_t gpus, int64_t batch, int64_t process, int64_t count, uint64_t seed) {
  data::DistributedSampler sampler;
  // For one rank the sampler gives the whole epoch's draw, which is divided by device below.
  sampler.count = count;
  sampler.seed = seed;
  Portion result;
  if (strategy == Strategy::DdpDs) {
    sampler.world = gpus;
    sampler.rank = process;
    // Each process loads only its own images, which are its device's.
    result.order = [sampler](int64_t epoch) { return sampler.indices(epoch); };
    result.images = sampler.perRank();
    result.batch = batch;
    result.tail_is_single = batch > 1 && result.images % batch == 1;
    return result;
  }
  // One process loads everything. The ranks of ddp must get equally much of a last batch, so its draw is filled up as
  // DistributedSampler does.
  result.images = strategy == Strategy::Ddp ? (count + gpus - 1) / gpus * gpus : count;
  result.order = [sampler, gpus, batch, images = result.images](int64_t epoch) {
    std::vector<int64_t> drawn = sampler.indices(epoch);
    const size_t all = drawn.size();
    for (size_t i = 0; drawn.size() < size_t(images); ++i) drawn.push_back(drawn[i % all]);
    return byDevice(drawn, gpus, batch);
  };
  result.batch = batch * gpus;
  if (strategy == Strategy::Ddp) {
    result.slice = process;
    result.slices = gpus;
  }
  result.tail_is_single = batch > 1 && leavesSingle(result.images % result.batch, gpus);
  return result;
}

ReplicaThreads::ReplicaThreads(const std::vector<ReplicaPlace>& places) {
  for (const ReplicaPlace& place : places) {
    threads_.push_back(std::make_unique<c10::ThreadPool>(1));
    threads_.back()->run([&] {
      profile::markLaunchingThread();
      // If the system allows fewer cores than the engine saw, the thread stays where it is, as a rank does.
      serve::bindCores(place.cores);
      // One thread after the other: set_num_threads() also writes a default for threads to come. OpenMP's teams
      // belong to the thread that starts them, and inherit its cores.
      at::set_num_threads(place.threads);
    });
    threads_.back()->waitWorkComplete();
  }
}

void ReplicaThreads::run(size_t count, const std::function<void(size_t)>& task) {
  // An exception must not leave a pool's thread, and all tasks must have ended before one is thrown here.
  std::vector<std::exception_ptr> failures(count);
  for (size_t i = 0; i < count; ++i)
    threads_[i]->run([&, i] {
      try {
        task(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  for (size_t i = 0; i < count; ++i) threads_[i]->waitWorkComplete();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

std::unique_ptr<Parallel> makeRanks(comm::Communicator& communicator, model::MobileNetV2& model) {
  return std::make_unique<Ranks>(communicator, model);
}

std::unique_ptr<Parallel> makeReplicas(model::MobileNetV2& first, const model::MobileNetV2Options& options,
                                       std::vector<ReplicaPlace> places, std::optional<c10::ScalarType> autocast,
                                       uint64_t seed) {
  return std::make_unique<Replicas>(first, options, std::move(places), autocast, seed);
}

}  // namespace expc::workload::image
