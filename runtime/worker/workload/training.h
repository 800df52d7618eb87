#pragma once

// A training that a trial runs, whatever it trains, and what the kinds of trial ask of it.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/data/io/safetensors.h"
#include "runtime/worker/model/named_tensor.h"
#include "runtime/worker/optim/optimizer.h"
#include "runtime/worker/precision/precision.h"
#include "runtime/worker/profile/breakdown.h"
#include "runtime/worker/profile/range.h"
#include "runtime/worker/workload/declared/parameter_table.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload {

class CheckpointFolder;

/// What the clock of timed trials says (docs/layers/engine.md): `warmup` steps, then the time of `steps` steps between
/// two barriers on idle devices.
struct Clocked {
  /// The largest over the ranks, in seconds: from process start to the clock's start, the very first step, all timed
  /// steps, the median of one, waiting for batches.
  double startup = 0, first_step = 0, wall = 0, step = 0, load_wait = 0;
  // This rank's. Nothing: not measured.
  std::vector<double> steps;
  std::optional<double> energy;  // joules of its device
  std::optional<double> host_memory;
  std::optional<device::MemoryPeaks> device_memory;
  std::vector<std::string> notes;
};

/// What a quality trial has so far; what a checkpoint keeps beside the training itself.
struct Course {
  std::vector<double> losses;
  std::vector<double> accuracies;  // after each epoch, where the training is evaluated then
  double training_s = 0, evaluation_s = 0;
};

/// What a quality trial says of its training, with what every rank has alike: series.
struct QualityResult {
  std::vector<profile::Measure> metrics;
  std::vector<std::pair<const char*, std::vector<double>>> series;
};

/// How far a training is.
struct Done {
  int64_t steps = 0;
  int64_t passes = 0;  // that its random numbers count
  precision::GradScaler::State scaler;
};

/// What a training has to remember between two steps: what is trained apart, for others to read.
struct Snapshot {
  std::vector<model::NamedTensor> model, rest;
  Done done;
};

class Training {
 public:
  virtual ~Training() = default;
  /// One step of the optimiser on this rank. False after the last one.
  virtual llvm::Expected<bool> step() = 0;
  virtual int64_t stepsPerEpoch() const = 0;
  /// Seconds so far that this rank waited for batches.
  virtual double loadWaitSeconds() const = 0;
  /// Losses of the steps since the last call, over all ranks; an error where the first loss of all is not finite. A
  /// later one that is not is noted. Waits for the device; every rank calls it.
  llvm::Expected<std::vector<double>> takeLosses();
  /// What a reader of the result should know.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Adds how the steps are computed.
  virtual void describe(llvm::json::Object& environment) const = 0;

  /// Of timed trials, between warm-up and timed steps, outside of the clock.
  virtual void beginTimed() {}
  /// The metrics of `steps` timed steps that are its own. Every rank calls it, after the clock.
  virtual std::vector<profile::Measure> measure(const Clocked& clocked, int64_t steps) = 0;

  /// Of quality trials: every rank calls these. A snapshot's tensors are the first rank's to have, on its host or the
  /// training's own, which change with the next step.
  virtual Snapshot snapshot() = 0;
  /// Goes on from a snapshot that another training of the same trial wrote, as if that one had not stopped, before the
  /// first step. An error says what does not fit.
  virtual llvm::Error restore(const io::SafeTensors& model, const io::SafeTensors& rest, const Done& done) = 0;
  /// How much there is of what it reads, by name: as much as where it goes on.
  virtual llvm::json::Object counts() const = 0;
  /// Whether it is evaluated after each epoch, outside of the epochs' clock. One that is evaluated at its end alone has
  /// a total time, of which bringing the losses to the host is part.
  virtual bool evaluatesEpochs() const { return false; }
  virtual llvm::Error evaluateEpoch(Course& course) { return llvm::Error::success(); }
  /// After the last epoch.
  virtual llvm::Expected<QualityResult> judge(Course& course) = 0;
  /// Leaves what was trained in the folder of a trial that has ended, and says what lies where.
  virtual llvm::Expected<std::vector<std::string>> leave(const CheckpointFolder& folder, int64_t epochs) = 0;

 protected:
  explicit Training(TrialContext& context) : context_(context) {}

  /// Before anything is read: notes that `pin_memory` has no effect where it has none.
  void begin(bool pin_memory);
  /// One untimed all-reduce: communicators set their paths up at the first use.
  void connect();
  /// What the ranks' losses of a step are divided by, after they were added up.
  virtual double partsOfLoss() const { return 1; }

  /// The names of a snapshot's tensors beside the optimiser's.
  static std::string optimizerName(const std::string& name) { return "optimizer." + name; }
  /// Restores the optimiser from a snapshot's rest, each tensor as `read` makes it; the one called `own` is the
  /// caller's.
  static llvm::Expected<at::Tensor> restoreOptimizer(
      optim::Optimizer& optimizer, const io::SafeTensors& rest, llvm::StringRef own,
      const std::function<llvm::Expected<at::Tensor>(const io::TensorInfo&)>& read);

  TrialContext& context_;
  std::vector<at::Tensor> losses_;  // of the steps since they were taken
  int64_t steps_done_ = 0;
  bool diverged_ = false;  // some loss was not finite
  std::optional<profile::Range> epoch_range_;
  std::vector<std::string> notes_;
};

/// What trials of each kind measure: what every training has, and a training's own, by tables in which nothing is
/// measured yet.
std::vector<Metric> metricsOf(const std::vector<profile::Measure>& timed, const QualityResult& judged);

/// `count` steps, with a mark of the device after each of them if `marked`. A training that ends before is no error.
llvm::Error runSteps(TrialContext& context, Training& training, int64_t count, std::string_view phase, bool marked);

/// Makes a training that goes on after so many epochs.
using MakeTraining = std::function<llvm::Expected<std::unique_ptr<Training>>(int64_t epochs_done)>;

// Trials of each kind, by every rank.

/// The metrics that timed trials of every training have.
std::vector<profile::Measure> timedMetrics(const Clocked& clocked);

/// The result has the training's notes first, what every training is asked for, and what is its own. Every rank calls
/// it.
llvm::Expected<plan::Event> timedTrial(TrialContext& context, Training& training, const Settings& settings);

/// The metrics of profile trials, of which nothing is measured yet.
std::vector<profile::Measure> profileMetrics();

/// Steps that are traced, where a trace is asked for.
inline constexpr int64_t kTracedSteps = 3;

/// `warmup` steps, then `steps` profiled ones; the result has the training's notes first, and the loss of each step.
/// Where EXPC_TRACE names a file without its ending, a few more steps are traced into EXPC_TRACE.rank0.json, …; nothing
/// is measured of these.
llvm::Expected<plan::Event> profileTrial(TrialContext& context, Training& training, const Settings& settings);

/// `epochs` epochs between barriers, and what the training says of itself then. With a folder of checkpoints it goes on
/// from the newest of this trial. Workload, point, seed, epochs, ranks, parameters and what these have it read (rows,
/// images, weights, adapters, tokenizer: the engine's digest of them, in EXPC_DATA_DIGEST) say which trial it is; how
/// it computes (torch, device, threads, instruction set) must agree as well, since it changes the last bits. Where
/// checkpoints are kept counts for neither. The newest must be the same one on every rank. Every rank calls it.
llvm::Expected<plan::Event> qualityTrial(TrialContext& context, int64_t epochs, const std::string& checkpoints,
                                         const MakeTraining& make);

/// Why a rehearsal cannot be had: another kind of trial, metrics that it would have to measure, cards that are none of
/// ours.
llvm::Error checkRehearsal(const plan::TrialSpec& spec);

/// In a rehearsal: puts made-up data in the place of a folder or file of the parameter `data` that is not there, so
/// that the rest of a point is seen all the same.
/// @returns whether it did, with a note for the result; of any other trial "".
std::string standInForData(const plan::TrialSpec& spec, llvm::json::Object& parameters);

/// `warmup` steps, then `steps` that are counted, then one whose operators are observed: their operations and bytes
/// times `steps` are those that the result tells. The result has the training's notes, and no metrics: a loss is
/// whatever memory held. Every rank calls it; rank 0 has all ranks' counts.
llvm::Expected<plan::Event> rehearse(TrialContext& context, Training& training, const Settings& settings);

/// A trial of any kind. `checkpoints`: the folder of a quality trial, as written in the study; "": none are kept.
llvm::Expected<plan::Event> runTraining(TrialContext& context, const Settings& settings, const std::string& checkpoints,
                                        const MakeTraining& make);

/// runTraining with parameters as the specification has them. `make` gives a MakeTraining for them and the settings,
/// and is told whether made-up data stands in for what a rehearsal lacks.
template <typename Parameters, typename Make>
llvm::Expected<plan::Event> runTraining(TrialContext& context,
                                        llvm::Expected<Parameters> (*read)(const llvm::json::Object&), Make make) {
  llvm::json::Object given = context.spec.parameters;
  const std::string stand_in = standInForData(context.spec, given);
  auto parameters = read(given);
  if (!parameters) return parameters.takeError();
  auto settings = readSettings(context.spec);
  if (!settings) return settings.takeError();
  auto result = runTraining(context, *settings, parameters->checkpoints,
                            make(*parameters, *settings, /*made_up=*/!stand_in.empty()));
  if (result && !stand_in.empty()) result->notes.push_back(stand_in);
  return result;
}

}  // namespace expc::workload
