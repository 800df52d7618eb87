// Services: from the needs of a trial to launches, and from their words to ready, dead or gone.

#include "runtime/engine/services.h"

#include <algorithm>
#include <utility>

#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"
#include "runtime/plan/command.h"
#include "runtime/protocol/port.h"

namespace expc::engine {
namespace {

/// The text that tells instances of a service apart on one lane.
std::string keyOf(const Plan& plan, const ServedTrial& trial, const plan::Service& service) {
  std::string key = plan::instanceOf(service, trial.point) + fmt::format(" session {}", trial.block.session);
  for (const unsigned slot : trial.parts.front().own) key += fmt::format(" {}", slot);
  if (plan.design.restart != plan::Restart::Session) key += fmt::format(" block {}", trial.block.id);
  if (plan.design.restart == plan::Restart::Trial) key += fmt::format(" trial {} {}", trial.position, trial.attempt);
  return key;
}

}  // namespace

std::string leftBehindText(const TrialEnd& end, std::string_view program) {
  for (const plan::Note& note : end.notes)
    if (note.code == plan::Note::LeftBehind)
      return fmt::format(
          "{} that {} left behind {} ended: a program that trials need is a service (`service NAME command "
          "[…]`, which the workload names)",
          base::counted(uint64_t(note.number), "process"), program, note.number == 1 ? "was" : "were");
  return "";
}

Expected<bool> Services::ready(unsigned lane, const ServedTrial& trial) {
  const auto& command = setup_.workloadOf(trial.point).command;
  std::vector<std::pair<std::string, const plan::Service*>> wanted;
  if (command)
    for (const plan::Service& service : command->services)
      wanted.emplace_back(keyOf(setup_.plan, trial, service), &service);
  auto& own = lanes_[lane];
  const auto isWanted = [&](const std::shared_ptr<Instance>& one) {
    return !one->told && std::ranges::any_of(wanted, [&](const auto& need) { return need.first == one->key; });
  };
  std::erase_if(own, [&](const auto& one) { return one->gone && !isWanted(one); });
  for (const auto& one : own) one->told |= !isWanted(one);
  if (std::ranges::any_of(own, [](const auto& one) { return one->told; })) return false;
  if (death(lane)) return true;
  for (const auto& [key, service] : wanted)
    if (std::ranges::none_of(own, [&](const auto& one) { return one->key == key; }))
      TRY(start(lane, trial, *service, key));
  return death(lane) || std::ranges::all_of(own, [](const auto& one) { return one->seconds.has_value(); });
}

Error Services::start(unsigned lane, const ServedTrial& trial, const plan::Service& service, std::string key) {
  auto instance = std::make_shared<Instance>();
  instance->name = service.name;
  instance->key = std::move(key);
  instance->metric = service.command.ready->metric;
  instance->workload = trial.point.workload;
  instance->folder = folderFor(service.name);
  instance->port = portFor();
  instance->host = trial.parts.size() > 1 ? setup_.nodes->all()[trial.parts.front().node].address : "127.0.0.1";
  instance->request =
      serviceRequest(setup_, options_, trial.parts.front(), trial.block, trial.point, service, instance->folder,
                     {{"host", instance->host}, {"port", fmt::to_string(instance->port)}});
  TRY(files_.whileLinking([&] { return folders_.make(instance->folder, setup_.command_files[instance->workload]); }));
  lanes_[lane].push_back(instance);
  launch::TrialHooks hooks;
  hooks.ended = [this, instance](TrialEnd end) { return ended(*instance, std::move(end)); };
  hooks.progress = [this, instance](const protocol::Event& event) { heard(*instance, event); };
  hooks.over = [instance] { return instance->told; };
  return runner_.start(instance->request, std::move(hooks));
}

void Services::heard(Instance& instance, const protocol::Event& event) {
  using Type = protocol::Event::Type;
  if (event.type == Type::Progress && event.phase == protocol::kReadyPhase && !instance.seconds) {
    instance.seconds = double(event.done) / 1e6;
    instance.process = event.total;
    if (told_ready_.insert(instance.name).second)
      listener_.say("the service {} is ready after {}", instance.name, durationText(*instance.seconds));
  }
  // Its clients fail at the same moment; their reason must be able to name this one.
  if ((event.type != Type::Failed && event.type != Type::Infeasible) || instance.told || instance.death) return;
  instance.death.emplace();
  instance.death->status = event.type == Type::Infeasible ? TrialStatus::Infeasible : TrialStatus::Failed;
  instance.death->reason = fmt::format("the service {}: {}", instance.name, event.reason);
}

Error Services::ended(Instance& instance, TrialEnd end) {
  instance.gone = true;
  const bool stuck = !end.stuck.empty();
  if (instance.death || (!instance.told && end.status != TrialStatus::Interrupted) || stuck) {
    const bool heard = instance.death && (instance.death->status == end.status || end.status == TrialStatus::Failed);
    end.reason = heard ? instance.death->reason : fmt::format("the service {}: {}", instance.name, end.reason);
    if (heard) end.status = instance.death->status;
    if (end.status == TrialStatus::Valid) end.status = TrialStatus::Failed;
    end.seconds = 0;  // its time is no trial's
    instance.death = std::move(end);
    launch::removeEmptyLogs(instance.request);
    inputs::leaveInputs(instance.folder, setup_.command_files[instance.workload]);
    inputs::TrialFolders::keep(instance.folder);
    if (told_failed_.insert(instance.name).second)
      listener_.say("the service {} failed; its folder {} is kept", instance.name, instance.folder);
    return Error::success();
  }
  return files_.whileLinking([&] { return folders_.drop(instance.folder), Error::success(); });
}

void Services::address(unsigned lane, TrialRequest& request) const {
  for (const auto& one : lanes_[lane]) {
    request.spec.values[one->name + ".host"] = one->host;
    request.spec.values[one->name + ".port"] = fmt::to_string(one->port);
    request.spec.values[one->name + ".pid"] = fmt::to_string(one->process);
  }
}

const TrialEnd* Services::death(unsigned lane) const {
  for (const auto& one : lanes_[lane])
    if (one->death) return &*one->death;
  return nullptr;
}

std::vector<int> Services::trialOver(unsigned lane, store::TrialResult& result) {
  std::vector<int> stuck;
  for (const auto& one : lanes_[lane]) {
    if (!one->metric.empty()) result.supply(one->metric, one->seconds);
    if (!one->death) continue;
    stuck.insert(stuck.end(), one->death->stuck.begin(), one->death->stuck.end());
    one->told = true;
  }
  return stuck;
}

void Services::end(unsigned lane) {
  std::erase_if(lanes_[lane], [](const auto& one) { return one->gone; });
  for (const auto& one : lanes_[lane]) one->told = true;
}

bool Services::any(unsigned lane) const {
  return std::ranges::any_of(lanes_[lane], [](const auto& one) { return !one->gone; });
}

uint16_t Services::portFor() const {
  // Another service may have been given the port and not listen yet.
  for (unsigned attempt = 0;; ++attempt) {
    const uint16_t port = protocol::freePort();
    const auto has = [&](const auto& lane) {
      return std::ranges::any_of(lane, [&](const auto& one) { return one->port == port; });
    };
    if (attempt > 100 || std::ranges::none_of(lanes_, has)) return port;
  }
}

std::string Services::folderFor(const std::string& name) {
  // Folders of services that died in earlier runs are kept, as those of trials are.
  std::string folder;
  do folder = fmt::format("{}/trials/{}-{}", options_.results, name, ++started_);
  while (files::isThere(folder));
  return folder;
}

}  // namespace expc::engine
