// Quality trials, whatever they train: epochs between barriers, evaluation beside the clock, checkpoints, and the way
// back from one. A trial that is interrupted and continued must end with the same bits as one that was not. So a
// checkpoint has everything that later steps depend on, and whatever else changes the last bits must agree before a
// trial is continued.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/workload/checkpoint.h"
#include "runtime/worker/workload/training.h"

namespace expc::workload {
namespace {

using json::Object;
using Checkpoint = CheckpointFolder::Checkpoint;

/// A value as a fact of the trial's identity: texts without quotes.
std::string textOf(const json::Value& value) {
  if (auto text = value.getAsString()) return text->str();
  return canonicalJson(value);
}

/// The identity by which a checkpoint is found and checked. Only what was asked for is in the folder's name. The
/// environment is in the facts alone: continuing elsewhere is then refused with a reason, rather than begun anew in
/// silence.
TrialIdentity identityOf(const TrialContext& context) {
  const protocol::TrialSpec& spec = context.spec;
  const char* data = std::getenv("EXPC_DATA_DIGEST");
  Object asked{{"point", spec.point},
               {"workload", spec.workload},
               {"workload version", std::to_string(spec.workload_version)},
               {"data", data ? data : ""},
               {"seed", std::to_string(spec.seed)},
               {"ranks", std::to_string(spec.world_size)}};
  for (const auto& [name, value] : spec.settings) asked["setting " + name.str()] = textOf(value);
  for (const auto& [name, value] : spec.parameters)
    if (name != "checkpoints") asked["parameter " + name.str()] = textOf(value);
  TrialIdentity identity;
  identity.name = fmt::format("{}-seed{}-{}", spec.point, spec.seed, base::shortHash(canonicalJson(Object(asked))));
  identity.facts = std::move(asked);
  Object environment;
  context.device.describe(environment);
  for (const auto& [name, value] : environment) identity.facts["environment " + name.str()] = textOf(value);
  return identity;
}

/// The newest checkpoint, on which all ranks must agree. The first rank also prepares the folder for the next ones.
Expected<std::optional<Checkpoint>> newestOfAll(TrialContext& context, CheckpointFolder& folder) {
  auto found = TRY(folder.newest());
  const double epochs = found ? double(found->epochs) : 0;
  // The largest and the smallest number of epochs in one reduction: the largest of the negated is the smallest.
  const auto range = context.communicator.allReduce({epochs, -epochs}, comm::Reduction::Max);
  if (range[0] != -range[1])
    return failure(
        "the ranks see different checkpoints in {} (after epoch {} and {}): it must be one folder for all of them",
        folder.path(), -range[1], range[0]);
  if (context.communicator.rank() == 0) TRY(folder.prepare());
  return found;
}

/// The course as JSON, in both directions.
constexpr auto kCourse = [](JsonRecord& io, Course& course) {
  io.required("losses", course.losses, "accuracies", course.evaluations, EXPC_NAMED(course, training_s, evaluation_s));
};

/// The numbers of a training as a checkpoint keeps them: its progress, and the sizes of its data.
Object numbersOf(const Training& training, const Done& done) {
  Object numbers = training.counts();
  numbers["steps of an epoch"] = training.stepsPerEpoch();
  numbers["steps"] = done.steps;
  if (done.passes > 0) numbers["passes"] = done.passes;
  numbers["scale"] = done.scaler.scale;
  numbers["good steps"] = done.scaler.good_steps;
  numbers["skipped steps"] = done.scaler.skipped;
  return numbers;
}

/// The progress, if `numbers` are those of a training with the same data. Writing what was read and comparing checks
/// every field at once.
std::optional<Done> doneFrom(const Training& training, const Object& numbers) {
  const auto integer = [&](StringRef name) { return numbers.getInteger(name).value_or(-1); };
  const Done done{integer("steps"),
                  numbers.getInteger("passes").value_or(0),
                  {numbers.getNumber("scale").value_or(-1), integer("good steps"), integer("skipped steps")}};
  return numbersOf(training, done) == numbers ? std::optional(done) : std::nullopt;
}

/// Continues the training of `epochs` epochs and the course from the checkpoint.
Error resume(Training& training, Course& course, const Checkpoint& checkpoint, int64_t epochs) {
  const Object* numbers = checkpoint.content.getObject("training");
  const json::Value* kept = checkpoint.content.get("course");
  const auto done = numbers ? doneFrom(training, *numbers) : std::nullopt;
  // Whatever does not fit below makes the checkpoint unusable; a course that cannot be read counts as empty.
  if (kept) course = expectedToOptional(base::readRecord<Course>(*kept, "the course", kCourse)).value_or(Course());
  const int64_t steps = training.stepsOf(checkpoint.epochs), every = training.evaluatesEvery();
  // A shorter last part is evaluated too, but only where the training ends.
  const int64_t evaluations = every == 0 ? 0 : steps / every + (steps == training.stepsOf(epochs) && steps % every > 0);
  if (!done || std::ssize(course.evaluations) != evaluations || std::ssize(course.losses) != steps)
    return failure("{} was written by another build, or with other data: remove it to start the trial over",
                   checkpoint.path);
  return training.restore(checkpoint.model, checkpoint.state, *done);
}

/// Writes a checkpoint. A collective: what other ranks know goes to the first one, which writes for as long as its
/// disk takes.
Error keep(TrialContext& context, Training& training, const CheckpointFolder& folder, int64_t epochs, Course course) {
  Snapshot snapshot = training.snapshot();
  // The slowest rank's times, so that every rank that continues has the same sums.
  course.training_s = context.communicator.allReduce(course.training_s, comm::Reduction::Max);
  course.evaluation_s = context.communicator.allReduce(course.evaluation_s, comm::Reduction::Max);
  return comm::whileOneWorks(context.communicator, 0, [&](const comm::CallOthers&) {
    return folder.save(
        epochs, snapshot.model, snapshot.rest,
        Object{{"course", JsonRecord::written(course, kCourse)}, {"training", numbersOf(training, snapshot.done)}});
  });
}

/// Moves the losses since the last call into the course.
Error addLosses(Training& training, Course& course) {
  auto losses = TRY(training.takeLosses());
  llvm::append_range(course.losses, losses);
  return Error::success();
}

/// Runs steps up to `end` of `all` and adds their wall time on this rank to the course. They start at a barrier on an
/// idle device. They end at such a barrier too, or, for a training that is only evaluated at its end, with the losses,
/// which all ranks learn at the same moment.
Error runSteps(TrialContext& context, Training& training, int64_t end, int64_t all, Course& course) {
  const bool evaluates = training.evaluatesEvery() > 0;
  context.device.synchronize();
  context.communicator.barrier();
  const auto begin = base::Clock::now();
  for (auto i = std::ssize(course.losses); i < end; ++i) {
    TRY(training.step());
    context.progress.report(uint64_t(i + 1), uint64_t(all), "epoch");
  }
  if (!evaluates) TRY(addLosses(training, course));
  context.device.synchronize();
  if (evaluates) context.communicator.barrier();
  course.training_s += base::secondsSince(begin);
  return evaluates ? addLosses(training, course) : Error::success();
}

/// Runs the remaining steps, evaluating between them, and keeps a checkpoint after each epoch.
Error train(TrialContext& context, Training& training, const CheckpointFolder* folder, int64_t epochs, Course& course) {
  const int64_t each = training.stepsPerEpoch(), all = training.stepsOf(epochs), every = training.evaluatesEvery();
  for (auto done = std::ssize(course.losses); done < all;) {
    const auto next = [done](int64_t multiple) { return (done / multiple + 1) * multiple; };
    const int64_t end = std::min({all, next(each), every > 0 ? next(every) : all});
    // Evaluation has a clock of its own, and writing a checkpoint has none.
    TRY(runSteps(context, training, end, all, course));
    const bool evaluates = every > 0 && (end % every == 0 || end == all);
    if (evaluates || end == all) context.progress.report(uint64_t(end), uint64_t(all), "evaluate");
    if (evaluates) TRY(training.addEvaluation(course));
    if (folder && (end % each == 0 || end == all))
      TRY(keep(context, training, *folder, (end + each - 1) / each, course));
    done = end;
  }
  return Error::success();
}

}  // namespace

Expected<protocol::Event> qualityTrial(TrialContext& context, int64_t epochs, const std::string& checkpoints,
                                       const MakeTraining& make) {
  // Look for a checkpoint first: it decides at which epoch the training starts.
  std::optional<CheckpointFolder> folder;
  std::optional<Checkpoint> checkpoint;
  if (!checkpoints.empty()) {
    folder.emplace(std::filesystem::path(context.spec.root) / checkpoints, identityOf(context));
    checkpoint = TRY(newestOfAll(context, *folder));
  }
  auto created = TRY(make(checkpoint ? checkpoint->epochs : 0));
  Training& training = context.keep(std::move(created));
  Course course;
  protocol::Event result{.type = protocol::Event::Type::Result};
  if (checkpoint) {
    TRY(resume(training, course, *checkpoint, epochs));
    result.notes.push_back(fmt::format("continued after epoch {} of {} from {}; times are the sum of both parts",
                                       checkpoint->epochs, epochs, checkpoint->path));
    // Its files are mapped into memory; release them before training.
    checkpoint.reset();
  }
  TRY(train(context, training, folder ? &*folder : nullptr, epochs, course));
  // Results are reduced over ranks before rank 0 leaves the artefacts, which may take minutes.
  auto judged = TRY(training.judge(course));
  profile::reduce(context.communicator, judged.metrics, result.metrics);
  for (const auto& [name, values] : judged.series) result.series[name] = json::Array(values);
  training.describe(result.environment);
  result.notes.insert(result.notes.begin(), training.notes().begin(), training.notes().end());
  if (!folder) return result;
  auto left = TRY(training.leave(*folder, epochs));
  llvm::append_range(result.notes, left);
  return result;
}

}  // namespace expc::workload
