#pragma once

// A training as trials see it, whatever it trains, and the trials themselves: timed, profile, quality, and
// rehearsals. A workload derives from Training; the functions below drive it and own the clock.

#include <llvm/Support/JSON.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/model/safetensors.h"
#include "runtime/plan/note.h"
#include "runtime/worker/model/named_tensor.h"
#include "runtime/worker/model/optimizer.h"
#include "runtime/worker/model/precision.h"
#include "runtime/worker/profile/breakdown.h"
#include "runtime/worker/profile/range.h"
#include "runtime/worker/workload/declared/parameter_table.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload {

class CheckpointFolder;

/// The readings of a timed trial's clock (docs/layers/engine.md): `warmup` steps, then the time of `steps` steps
/// between two barriers on idle devices.
struct Clocked {
  /// Seconds, each the largest over the ranks: from process start to the clock's start, the very first step, all
  /// timed steps, the median step, waiting for batches.
  double startup = 0, first_step = 0, wall = 0, step = 0, load_wait = 0;
  // This rank's own values; nothing means not measured.
  std::vector<double> steps;     // seconds of each timed step
  std::optional<double> energy;  // joules of the rank's devices
  std::optional<double> host_memory;
  std::optional<device::MemoryPeaks> device_memory;
  std::vector<std::string> notes;
};

/// The results of a quality trial so far. A checkpoint keeps them beside the training itself.
struct Course {
  std::vector<double> losses;
  std::vector<double> evaluations;  // accuracies or losses of the evaluations during training
  double training_s = 0, evaluation_s = 0;
};

/// A quality trial's metrics, and as series the values that every rank has alike.
struct QualityResult {
  std::vector<profile::Measure> metrics;
  std::vector<std::pair<const char*, std::vector<double>>> series;
};

/// The progress of a training.
struct Done {
  int64_t steps = 0;
  int64_t passes = 0;  // forward passes, which random numbers count
  precision::GradScaler::State scaler;
};

/// The state of a training between two steps. `model` is what is trained, apart so that others can read it.
struct Snapshot {
  std::vector<model::NamedTensor> model, rest;
  Done done;
};

/// One rank's training. All ranks call the same functions in the same order; none may be called after one that
/// failed.
class Training {
 public:
  virtual ~Training() = default;
  /// One step of the optimiser on this rank. False after the last one.
  virtual Expected<bool> step() = 0;
  /// In rehearsals, after all other steps: the step of an epoch that takes most memory. False if steps do not differ.
  virtual Expected<bool> widestStep() { return false; }
  /// Steps of a pass over the data, equal on all ranks.
  virtual int64_t stepsPerEpoch() const = 0;
  /// Seconds that this rank has waited for batches so far.
  virtual double loadWaitSeconds() const = 0;
  /// Losses of the steps since the last call, over all ranks. Waits for the device, and is a collective. An error if
  /// the very first loss is not finite; a later one that is not is noted, because a diverging training is a result.
  Expected<std::vector<double>> takeLosses();
  /// Remarks for a reader of the result.
  const std::vector<plan::Note>& notes() const { return notes_; }
  /// Adds to the environment how the steps are computed.
  virtual void describe(json::Object& environment) const = 0;

  /// Called in timed trials between warm-up and timed steps, outside of the clock.
  virtual void beginTimed() {}
  /// The workload's own metrics of `steps` timed steps. A collective, after the clock.
  virtual std::vector<profile::Measure> measure(const Clocked& clocked, int64_t steps) = 0;

  // Quality trials only; all are collectives.

  /// The current state. The first rank has the tensors; they are on its host, or the training's own and change with
  /// the next step.
  virtual Snapshot snapshot() = 0;
  /// Continues from a snapshot of another training of the same trial as if that one had not stopped. Called before
  /// the first step. An error says what does not fit.
  virtual Error restore(const safetensors::File& model, const safetensors::File& rest, const Done& done) = 0;
  /// Sizes of what the training reads, by name. A checkpoint is only continued if they are equal.
  virtual json::Object counts() const = 0;
  /// The steps of a trial of so many epochs.
  virtual int64_t stepsOf(int64_t epochs) const { return epochs * stepsPerEpoch(); }
  /// The steps between evaluations during training, which are outside of its clock; the last step is followed by one
  /// too. 0: there are none before judge(), and the clock includes bringing the losses to the host.
  virtual int64_t evaluatesEvery() const { return 0; }
  /// Evaluates during training and adds the result and its time to the course.
  virtual Error addEvaluation(Course& course) { return Error::success(); }
  /// The metrics, after the last epoch.
  virtual Expected<QualityResult> judge(Course& course) = 0;
  /// Writes what was trained into the folder of a trial that has ended. Returns notes that say what lies where.
  virtual Expected<std::vector<std::string>> leave(const CheckpointFolder& folder, int64_t epochs) = 0;

 protected:
  explicit Training(TrialContext& context) : context_(context) {}

  /// To be called before anything is read: notes if `pin_memory` has no effect here.
  void begin(bool pin_memory);
  /// One untimed all-reduce, because communicators set up their paths at the first use.
  void connect();
  /// The divisor of a step's losses once they are summed over the ranks.
  virtual double partsOfLoss() const { return 1; }

  /// The name under which a snapshot keeps a tensor of the optimiser.
  static std::string optimizerName(const std::string& name) { return "optimizer." + name; }
  /// Restores the optimiser from a snapshot's `rest`. `read` turns each entry into a tensor. Returns the tensor named
  /// `own`, which is the caller's; any other name is an error.
  static Expected<at::Tensor> restoreOptimizer(
      optimizer::Optimizer& optimizer, const safetensors::File& rest, StringRef own,
      const std::function<Expected<at::Tensor>(const safetensors::TensorInfo&)>& read);

  TrialContext& context_;
  std::vector<at::Tensor> losses_;  // one for each step since they were last taken
  int64_t steps_done_ = 0;
  bool diverged_ = false;  // some loss was not finite, and that was noted
  std::optional<profile::Range> epoch_range_;
  std::vector<plan::Note> notes_;
};

/// The metrics that trials of each kind measure: those of every training, and a workload's own, read off tables that
/// are filled without a measurement. So a metric is named once.
std::vector<Metric> metricsOf(const std::vector<profile::Measure>& timed, const QualityResult& judged);

/// Runs `count` steps, marking the device after each if `marked`. A training that ends earlier is no error.
Error runSteps(TrialContext& context, Training& training, int64_t count, std::string_view phase, bool marked);

/// Makes a training that continues after `epochs_done` epochs.
using MakeTraining = std::function<Expected<std::unique_ptr<Training>>(int64_t epochs_done)>;

// Trials of each kind. All are collectives.

/// The metrics that timed trials of every training have, from the clock's readings.
std::vector<profile::Measure> timedMetrics(const Clocked& clocked);

/// A timed trial. The result has the training's notes first, then the metrics of every training and its own.
Expected<protocol::Event> timedTrial(TrialContext& context, Training& training, const Settings& settings);

/// The names of profile trials' metrics, without values.
std::vector<profile::Measure> profileMetrics();

/// Steps that are traced if a trace is asked for.
inline constexpr int64_t kTracedSteps = 3;

/// A profile trial: `warmup` steps, then `steps` profiled ones. The result has the training's notes first, and the
/// loss of each step. If EXPC_TRACE names a file without its ending, a few more steps are traced into
/// EXPC_TRACE.rank0.json, …; nothing is measured during these.
Expected<protocol::Event> profileTrial(TrialContext& context, Training& training, const Settings& settings);

/// A quality trial: `epochs` epochs between barriers, then the training's own judgement. With a folder of checkpoints
/// it continues from this trial's newest one, which must be the same on every rank.
///
/// A trial is the same one if workload, point, seed, epochs, ranks, parameters and the data that these read are equal
/// (rows, images, weights, adapters, tokenizer: the engine's digest of them in EXPC_DATA_DIGEST). How it computes
/// (torch, device, threads, instruction set) must agree as well, since it changes the last bits. The checkpoints'
/// folder counts for neither.
Expected<protocol::Event> qualityTrial(TrialContext& context, int64_t epochs, const std::string& checkpoints,
                                       const MakeTraining& make);

/// An error if a rehearsal is impossible: another kind of trial, metrics to measure, or devices that are not
/// simulated.
Error checkRehearsal(const protocol::TrialSpec& spec);

/// In a rehearsal, replaces a folder or file of the parameter `data` that does not exist by made-up data, so that the
/// rest of the point can be rehearsed. Returns a note if it did, else (and in any other trial) "".
std::string standInForData(const protocol::TrialSpec& spec, json::Object& parameters);

/// A rehearsal: `warmup` steps, then `steps` that are counted, then one whose operators are observed; its operations
/// and bytes times `steps` are reported. The result has the training's notes but no metrics: a loss is whatever
/// memory held. The result has all ranks' counts.
Expected<protocol::Event> rehearse(TrialContext& context, Training& training, const Settings& settings);

/// A trial of any kind. `checkpoints` is the folder of a quality trial as written in the study; "" keeps none.
Expected<protocol::Event> runTraining(TrialContext& context, const Settings& settings, const std::string& checkpoints,
                                      const MakeTraining& make);

/// runTraining() from parameters as the specification has them. `make` returns a MakeTraining for parameters and
/// settings; it is told whether made-up data stands in for what a rehearsal lacks.
template <typename Parameters, typename Make>
Expected<protocol::Event> runTraining(TrialContext& context, Expected<Parameters> (*read)(const json::Object&),
                                      Make make) {
  json::Object given = context.spec.parameters;
  const std::string stand_in = standInForData(context.spec, given);
  auto parameters = TRY(read(given));
  auto settings = TRY(readSettings(context.spec));
  auto result =
      runTraining(context, settings, parameters.checkpoints, make(parameters, settings, /*made_up=*/!stand_in.empty()));
  if (result && !stand_in.empty()) result->notes.push_back(stand_in);
  return result;
}

}  // namespace expc::workload
