#pragma once

// Optimisers over a list of tensors, and the limit of their gradients, with torch's arithmetic (docs/semantics.md §8).

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::optimizer {

/// Elements [begin, end) of a flattened parameter.
using Elements = std::pair<int64_t, int64_t>;
/// The elements of each parameter that weight decay leaves alone, in ascending order; empty if there are none at all.
using Undecayed = std::vector<std::vector<Elements>>;

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Updates every parameter that has a gradient. Outside of autograd. Where `overflow`, a tensor of fp32 without
  /// dimensions on the parameters' device, is defined and 1, it changes nothing; nobody waits to know.
  virtual void step(const at::Tensor& overflow = {}) = 0;
  /// Drops the gradients.
  void zeroGrad();
  void setLearningRate(double rate) { learning_rate_ = rate; }
  double learningRate() const { return learning_rate_; }

  /// What the optimiser remembers of the steps so far, by parameter and by PyTorch's name for it
  /// ("12.momentum_buffer"). Parameters that never had a gradient have none. The tensors are the optimiser's own.
  using State = std::vector<std::pair<std::string, at::Tensor>>;
  State state() const;
  /// Goes on from a copy of such a state. An error, with nothing changed, if a name or shape is not one of this
  /// optimiser's.
  Error restore(const State& state);

 protected:
  using List = std::vector<at::Tensor>;

  /// `remembered`: PyTorch's names of what is kept for each parameter.
  Optimizer(std::vector<at::Tensor> parameters, double rate, const std::vector<std::string>& remembered,
            Undecayed undecayed);
  static std::optional<at::Tensor> ifDefined(const at::Tensor& tensor) {
    return tensor.defined() ? std::optional(tensor) : std::nullopt;
  }
  /// The gradient in its parameter's memory order, as the fused kernels need it.
  static at::Tensor alignedGradient(const at::Tensor& parameter);
  /// What is kept of a parameter under a name before its first step.
  virtual at::Tensor fresh(size_t parameter, const std::string& name) const;
  /// Lists the parameters that have a gradient, with what is kept of them; makes what is not there yet. False: none.
  bool gather();
  /// Calls update(cut, decay) once, with the given weight decay; or, if some elements do not decay, once for those that
  /// do and once with 0 for the others. cut(list) is what the update takes of a list that gather() made.
  template <typename Update>
  void byDecay(double weight_decay, Update update) const;

  /// What is kept of each parameter under one name: all names of a parameter are defined, or none.
  struct Remembered {
    std::string name;
    List of, used;  // the second of those that have a gradient
  };
  std::vector<Remembered> memory_;
  List parameters_;
  List plain_;                 // the same memory, outside of autograd
  List tensors_, gradients_;   // that gather() found; kept so that a step allocates nothing
  std::vector<size_t> found_;  // the parameters that gather() found
  Undecayed undecayed_;
  double learning_rate_;
};

/// g += weight_decay p; buffer = g at the first step, then momentum buffer + g; p -= rate buffer.
struct SgdOptions {
  double learning_rate = 0.045;
  double momentum = 0.0;
  double weight_decay = 0.0;
  Undecayed undecayed = {};
};
std::unique_ptr<Optimizer> makeSgd(std::vector<at::Tensor> parameters, const SgdOptions& options);

/// Adam; `decoupled` makes it AdamW (p is scaled by 1 - rate weight_decay instead of adding weight_decay p to the
/// gradient). Of fp16 parameters it keeps fp32 copies, and moments in fp32: squares of their gradients, and most steps,
/// are too small for fp16.
struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  bool decoupled = false;
  Undecayed undecayed = {};
};
std::unique_ptr<Optimizer> makeAdam(std::vector<at::Tensor> parameters, const AdamOptions& options);

/// The norm of all gradients together, as torch.nn.utils.clip_grad_norm_ computes it; with a `largest` above zero they
/// are multiplied by min(1, largest / (norm + 1e-6)). Parameters without a gradient do not count. Where the parameters
/// are parts of those that ranks have together, `total` makes the sum of squares (fp64, no dimension) that of all
/// ranks, in place. The result has no dimension and lies on the device: nothing here waits for it.
at::Tensor clipGradients(const std::vector<at::Tensor>& parameters, double largest,
                         const std::function<void(at::Tensor&)>& total = nullptr);

// How the learning rate changes over a training: a rate for each step.

enum class ScheduleKind { Constant, Step, Cosine };

/// With W = warmup steps, T = total steps and t counted from 0 in the first step:
/// t < W: base (0.01 + 0.99 t / W), a line from a hundredth (torch's LinearLR with torchvision's start_factor);
/// then, with u = t - W: Constant: base; Step: base 0.98^floor(u / epoch) (StepLR, torchvision's gamma);
/// Cosine: base (1 + cos(pi u / (T - W))) / 2, which would reach zero in the step after the last (CosineAnnealingLR).
/// It is what SequentialLR makes of the two.
struct Schedule {
  static constexpr double kWarmupStart = 0.01;
  static constexpr double kDecay = 0.98;

  ScheduleKind kind = ScheduleKind::Constant;
  double base = 0;
  int64_t epoch_steps = 1;   // steps of an epoch, at least 1
  int64_t warmup_steps = 0;  // at most total_steps
  int64_t total_steps = 1;

  double rate(int64_t step) const;
  /// Whether all steps have the same rate.
  bool isConstant() const { return kind == ScheduleKind::Constant && warmup_steps == 0; }
};

/// Language models (docs/semantics.md §8): t < W: base t / W, so that the first step moves nothing; then
/// base (floor + (1 - floor) f), where f falls from 1 to 0, which the step after the last would have. Constant: 1;
/// Cosine: (1 + cos(pi p)) / 2 and Linear: 1 - p with p = (t - W) / (T - W); StableDecay (wsd): 1, and a line in the
/// last D steps. transformers has these as get_scheduler's cosine, linear, cosine_with_min_lr and warmup_stable_decay.
struct WarmupSchedule {
  enum class Kind { Constant, Linear, Cosine, StableDecay };

  double base = 0;
  int64_t warmup_steps = 0;
  int64_t total_steps = 1;
  Kind kind = Kind::Cosine;
  double floor = 0;
  int64_t decay_steps = 0;  // D, of StableDecay

  double rate(int64_t step) const;
};

}  // namespace expc::optimizer
