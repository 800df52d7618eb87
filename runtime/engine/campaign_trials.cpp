// Campaign: the trials of one block.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "runtime/engine/campaign.h"
#include "runtime/engine/command_request.h"
#include "runtime/engine/placement.h"
#include "runtime/engine/preparation.h"
#include "runtime/engine/schedule.h"
#include "runtime/engine/timeout.h"
#include "runtime/plan/devices.h"

namespace expc::engine {
namespace {

using store::TrialStatus;

bool hasControl(const plan::Plan& plan, const store::PlaceParts& place) {
  return place.label.empty() || std::any_of(plan.controls.begin(), plan.controls.end(), [&](const auto& control) {
           return control.name == place.label && control.point == place.point;
         });
}

}  // namespace

llvm::Expected<Campaign::BlockEnd> Campaign::runBlock(const store::BlockPlan& block) {
  auto trials = store_.trialsOfBlock(block.block.id);
  if (!trials) return trials.takeError();
  for (unsigned position = 0; position < block.points.size(); ++position) {
    auto end = runPlace(block, position, *trials);
    if (!end) return end.takeError();
    if (*end == BlockEnd::Interrupted) return BlockEnd::Interrupted;
  }
  return BlockEnd::Whole;
}

llvm::Expected<Campaign::BlockEnd> Campaign::runPlace(const store::BlockPlan& block, unsigned position,
                                                      std::vector<store::Trial> before) {
  const store::PlaceParts place = store::partsOf(block.points[position]);
  const plan::Point* point = plan_.findPoint(place.point);
  // A continued block may hold points that the study has dropped since.
  if (!point || !point->startable() || !hasControl(plan_, place)) return BlockEnd::Whole;
  unsigned attempt = 0;
  for (const store::Trial& trial : before) {
    if (trial.position == position) attempt = std::max(attempt, trial.attempt);
  }
  while (!isOver(before, position)) {
    if (interrupts_.requested()) return BlockEnd::Interrupted;
    if (auto error = launcher_.ready()) return error;
    auto trial = runAttempt(block, position, *point, ++attempt);
    if (!trial) return trial.takeError();
    if (trial->status == TrialStatus::Interrupted) return BlockEnd::Interrupted;
    before.push_back(std::move(*trial));
  }
  auto kinds = kindsInOrder(plan_);
  ++done_in_block_[std::find(kinds.begin(), kinds.end(), block.block.kind) - kinds.begin()];
  return BlockEnd::Whole;
}

llvm::Expected<store::Trial> Campaign::runAttempt(const store::BlockPlan& block, unsigned position,
                                                  const plan::Point& point, unsigned attempt) {
  std::vector<unsigned> slots = slotSet(plan::devicesOf(point), setup_.slots.size(), block.block.number);
  llvm::json::Array devices;
  for (unsigned slot : slots) devices.push_back(setup_.slots[slot].toJson());
  store::Trial trial;
  trial.point = point.id;
  trial.label = store::partsOf(block.points[position]).label;
  trial.kind = block.block.kind;
  trial.settings = block.settings;
  trial.block = block.block.id;
  trial.session = session_;
  trial.position = position;
  trial.attempt = attempt;
  const plan::Workload& workload = setup_.workloadOf(point);
  trial.environment_class = setup_.workerOf(workload).environment_class;
  trial.worker_build = setup_.workerOf(workload).description.build;
  trial.data_digest = store::dataDigest(plan_, point, trial.kind, setup_.match.data_digests);
  trial.devices = plan::canonicalJson(std::move(devices));
  trial.started = now();
  auto id = store_.beginTrial(trial);
  if (!id) return id.takeError();
  trial.id = *id;

  TrialNote shown = note(block, point, trial);
  listener_.trialStarted(shown);
  TrialHooks hooks;
  hooks.tick = [this] { return tick(); };
  hooks.progress = [&](const plan::Event& event) {
    listener_.trialProgress(shown, event.phase, event.done, event.total);
  };
  TrialRequest launch = request(block, point, trial, slots);
  if (workload.command) {
    if (auto error = makeTrialFolder(launch.spec.folder, setup_.command_files[point.workload])) return error;
  }
  auto end = runTrial(launcher_, interrupts_, launch, hooks);
  if (!end) return end.takeError();
  if (workload.command) tidy(launch.spec.folder, end->status);

  trial.status = end->status;
  traces_.ended(trial.kind, plan_, point, trial.id, trial.status == TrialStatus::Valid);
  trial.reason = end->reason;
  trial.log_tail = end->log_tail;
  trial.metrics = std::move(end->metrics);
  trial.not_on_device = std::move(end->not_on_device);
  trial.series = std::move(end->series);
  trial.notes = std::move(end->notes);
  if (const std::string note = placeNote(setup_.machine, point.parameters); !note.empty() && !workload.command)
    trial.notes.push_back(note);
  trial.environment_json = plan::canonicalJson(std::move(end->environment));
  trial.ended = trial.started + end->seconds;
  if (auto error = store_.endTrial(trial)) return error;
  count(trial);
  listener_.trialEnded(note(block, point, trial), trial.status, trial.ended - trial.started, trial.reason);
  return trial;
}

TrialRequest Campaign::request(const store::BlockPlan& block, const plan::Point& point, const store::Trial& trial,
                               const std::vector<unsigned>& slots) {
  TrialRequest request;
  plan::TrialSpec& spec = request.spec;
  spec.trial = std::to_string(trial.id);
  spec.point = point.id;
  spec.workload = setup_.workloadOf(point).name;
  spec.workload_version = setup_.workloadOf(point).version;
  spec.kind = trial.kind;
  for (const plan::KindDesign& design : plan_.design.kinds) {
    if (design.kind == trial.kind) spec.settings = design.settings;
  }
  spec.parameters = point.parameters;
  spec.root = plan_.root;
  spec.seed = block.block.seed;
  for (const plan::Metric& metric : plan_.metrics) {
    if (metric.kind == trial.kind && !metric.derived) spec.metrics.push_back(metric.name);
  }
  placeRanks(request, setup_.machine, setup_.slots, slots,
             setup_.workerOf(setup_.workloadOf(point)).description.isOneProcess(spec.workload, spec.parameters));
  const std::string trace = traces_.variable(trial.kind, plan_, point, trial.id);
  for (auto& variables : request.environment)
    if (!trace.empty()) variables.push_back(trace);
  request.log_prefix = fmt::format("{}/{}", logs(), trial.id);
  const plan::Workload& workload = setup_.workloadOf(point);
  const std::optional<double> declared = workload.command ? workload.command->timeout_seconds : std::nullopt;
  const std::optional<double> asked = options_.timeout_seconds ? options_.timeout_seconds : declared;
  request.timeout_seconds = trialTimeout(asked, results_, trial.kind, point.id);
  if (workload.command) {
    completeForCommand(request, plan_, point, setup_.slots, slots,
                       fmt::format("{}/trials/{}", options_.results, trial.id));
    spec.prepared = preparedFolder(setup_, point, options_.results);
  }
  return request;
}

std::string Campaign::logs() const {
  std::string folder = options_.results + "/logs";
  std::error_code ignored;  // opening the first log says what is wrong
  std::filesystem::create_directories(folder, ignored);
  return folder;
}

/// The folder of a command's trial is for whoever wants to know why it went wrong.
void Campaign::tidy(const std::string& folder, TrialStatus status) const {
  const bool wanted = status == TrialStatus::Valid ? options_.keep_trial_folders : status != TrialStatus::Interrupted;
  std::error_code ignored;
  if (!wanted) std::filesystem::remove_all(folder, ignored);
}

TrialNote Campaign::note(const store::BlockPlan& block, const plan::Point& point, const store::Trial& trial) const {
  TrialNote note;
  note.trial = trial.id;
  note.point_label = plan_.label(point);
  if (!trial.label.empty()) note.point_label += " (control " + trial.label + ")";
  note.kind = trial.kind;
  note.block = block.block.number;
  note.attempt = trial.attempt;
  note.done = outcome_.trials;
  double seconds = 0;
  bool known = false;
  uint64_t left = 0;
  auto kinds = kindsInOrder(plan_);
  for (size_t i = 0; i < kinds.size(); ++i) {
    uint64_t trials = left_at_block_[i] - std::min(left_at_block_[i], done_in_block_[i]);
    if (kinds[i] == trial.kind && trial.status != TrialStatus::Running && trials > 0) --trials;  // this one
    left += trials;
    if (trials == 0) continue;
    if (auto mean = pace_.meanSeconds(plan_, kinds[i])) {
      seconds += *mean * double(trials);
      known = true;
    } else {
      note.remaining_is_least = true;
    }
  }
  if (trial.status != TrialStatus::Running) {
    note.done = outcome_.trials - 1;  // counted already
    ++left;
  }
  note.expected = note.done + unsigned(std::max<uint64_t>(1, left));
  if (known) note.remaining_seconds = seconds;
  return note;
}

void Campaign::count(const store::Trial& trial) {
  ++outcome_.trials;
  switch (trial.status) {
    case TrialStatus::Valid:
      ++outcome_.valid;
      pace_.learn(trial.kind, trial.point, trial.ended - trial.started);
      break;
    case TrialStatus::Failed:
      ++outcome_.failed;
      break;
    case TrialStatus::Timeout:
      ++outcome_.timeouts;
      break;
    case TrialStatus::Infeasible:
      ++outcome_.infeasible;
      break;
    default:
      break;
  }
}

}  // namespace expc::engine
