// Monitor: from counters at several moments to the readings of a trial. All counters are totals, so a reading is a
// difference; one that shrank (an overflow, a restarted driver) gives no reading (grown).

#include "runtime/validity/monitor.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"

namespace expc::validity {
namespace {

// Core seconds that a trial needs for a share of others. The kernel counts in ticks of 10 ms for each core and process,
// so over less time rounding would look like disturbance.
constexpr double kLeastCoreSeconds = 1;
// Seconds between two looks at least. A look takes about a millisecond, more than a short trial, so trials that follow
// each other quickly share a look, and the count of memory at the end of one is that at the beginning of the next.
constexpr double kLeastBetween = 0.1;
// Share of others above which their names are looked up.
constexpr double kNoticeable = 0.05;

template <typename T>
/// The difference of two counts; absent if one is, or if the counter began anew.
std::optional<T> grown(const std::optional<T>& before, const std::optional<T>& after) {
  return before && after && *after >= *before ? std::optional<T>(*after - *before) : std::nullopt;
}

}  // namespace

Monitor::Monitor(Cards cards, int pid, std::string root)
    : cards_(std::move(cards)), pid_(pid), root_(std::move(root)), counters_(root_) {}

void Monitor::begin(uint64_t number, std::vector<int> cores, const std::vector<unsigned>& cards, double now,
                    bool served) {
  // Time until now belongs to the trials that are under way already.
  look(now);
  // The memory counts of the trial that ended just before serve as the beginning of this one.
  if (counted_ < 0 || now - counted_ >= kLeastBetween) count(now);
  Trial trial;
  trial.cores = std::move(cores);
  trial.began = now;
  trial.before = memory_;
  trial.joules_before = has_energy_ ? readEnergy(root_) : std::nullopt;
  has_energy_ = trial.joules_before.has_value();
  // The load is that before the trial, since its own processes raise it.
  trial.readings.load = load_;
  for (const unsigned index : cards) {
    Card card;
    card.readings.index = index;
    const auto state = cards_.look(index);
    // A card that does not answer now gives no readings; the doctor names it.
    if (!state) continue;
    card.before = *state;
    // Before the start no process of ours is on the card. So all that are there are others, even if NVML reports
    // numbers of another PID namespace. With services only their numbers tell (settle).
    if (!served) card.others = state->processes;
    take(card, state, family_);
    trial.cards.push_back(std::move(card));
  }
  readClocks(trial);
  trials_[number] = std::move(trial);
  if (trials_.size() > 1)
    for (auto& [other, beside] : trials_) beside.alone = false;
}

void Monitor::look(double now) {
  if (looked_ && now - at_ < kLeastBetween) return;
  looked_ = true;
  std::map<int, double> busy = readBusy(root_);
  Family family = base::familyOf(pid_, root_ + "/proc");
  // Without a trial under way nobody needs the share, but the counts must be renewed all the same.
  if (!trials_.empty()) account(busy, family, now - at_);
  busy_ = std::move(busy);
  load_ = readLoad(root_);
  family_ = std::move(family);
  at_ = now;
  for (auto& [number, trial] : trials_) {
    readClocks(trial);
    for (Card& card : trial.cards) take(card, cards_.look(card.readings.index), family_);
    if (!trial.sampled.empty()) takeSample(trial);
    sampleServices(trial);
  }
}

void Monitor::sample(uint64_t number, int pid) {
  if (auto* found = entryOf(trials_, number)) found->sampled.push_back(pid);
}

void Monitor::serve(uint64_t number, const std::string& metric, int pid) {
  auto* found = entryOf(trials_, number);
  if (!found) return;
  found->serving[metric] = pid;
  // A trial may end before the next look.
  sampleServices(*found);
}

void Monitor::count(double now) {
  memory_ = counters_.read();
  counted_ = now;
}

/// Computes what others took of the cores of all trials under way since the last look, in core seconds, and shares it
/// out by the trials' cores, since nothing tells which trial a process of ours belongs to.
void Monitor::account(const std::map<int, double>& busy, const Family& family, double seconds) {
  std::set<int> cores;
  for (const auto& [number, trial] : trials_) cores.insert(trial.cores.begin(), trial.cores.end());
  double sum = 0;
  bool known = family.cpu_seconds && family_.cpu_seconds && !cores.empty();
  for (const int core : cores) {
    // A core that went offline in between makes the share unknown.
    const auto before = std::as_const(busy_).find(core);
    const auto after = busy.find(core);
    known = known && before != std::as_const(busy_).end() && after != busy.end();
    if (known) sum += after->second - before->second;
  }
  // Our processes may have run on other cores, too, and both counts are rounded; hence the clamp.
  const double own = known ? std::max(0.0, *family.cpu_seconds - *family_.cpu_seconds) : 0;
  const double share = known && seconds > 0 ? std::clamp((sum - own) / (seconds * double(cores.size())), 0.0, 1.0) : 0;
  for (auto& [number, trial] : trials_) {
    const double core_seconds = seconds * double(trial.cores.size());
    trial.accounted = trial.accounted && known;
    trial.core_seconds += core_seconds;
    trial.others_seconds += share * core_seconds;
    // Once a trial: it reads all of /proc.
    if (share > kNoticeable && trial.readings.busy_others.empty())
      trial.readings.busy_others = runningOthers(trial.cores, family, root_);
  }
}

void Monitor::readClocks(Trial& trial) {
  Readings& readings = trial.readings;
  const auto mhz = has_clocks_ ? readClock(trial.cores, root_) : std::nullopt;
  has_clocks_ = has_clocks_ && (mhz || trial.cores.empty());
  if (mhz) {
    readings.mhz_most = std::max(readings.mhz_most.value_or(*mhz), *mhz);
    readings.mhz_least = std::min(readings.mhz_least.value_or(*mhz), *mhz);
  }
}

/// The memory that processes of a family hold on a card, in bytes.
static double bytesOf(const CardState& state, const Family& family) {
  double bytes = 0;
  for (const auto& [pid, memory] : state.memory)
    if (family.pids.contains(pid)) bytes += double(memory);
  return bytes;
}

void Monitor::sampleServices(Trial& trial) const {
  for (const auto& [metric, pid] : trial.serving) {
    const Family family = base::familyOf(pid, root_ + "/proc");
    for (const Card& card : trial.cards)
      if (const double bytes = card.now ? bytesOf(*card.now, family) : 0; bytes > 0)
        trial.readings.samples.served[metric] = std::max(trial.readings.samples.served[metric], bytes);
  }
}

void Monitor::takeSample(Trial& trial) const {
  Family family;
  for (const int pid : trial.sampled) family.pids.merge(base::familyOf(pid, root_ + "/proc").pids);
  for (const int pid : trial.sampled) family.pids.erase(pid);  // ours, which started the program
  const uint64_t host = memoryOf(family, root_);
  if (host == 0) return;
  trial.readings.samples.host.push_back(double(host));
  std::optional<double> held, busy;
  for (const Card& card : trial.cards) {
    const std::optional<CardState>& state = card.now;
    if (!state) continue;
    double bytes = bytesOf(*state, family);
    // In another PID namespace NVML names none of ours. The card is the trial's alone, so the rest is its own.
    if (bytes == 0 && !card.sees_ours && state->used && card.before.used)
      bytes = std::max(0.0, double(*state->used) - double(*card.before.used));
    held = std::max(held.value_or(0), bytes);
    if (state->busy) busy = busy.value_or(0) + *state->busy / double(trial.cards.size());
  }
  if (held) trial.readings.samples.device.push_back(*held);
  if (busy) trial.readings.samples.busy.push_back(*busy);
}

void Monitor::take(Card& card, const std::optional<CardState>& now, const Family& family) {
  card.now = now;
  if (!now) return;
  const CardState& state = *now;
  GpuReadings& readings = card.readings;
  ++readings.looks;
  readings.throttled += (state.reasons & kThrottles) != 0;
  readings.reasons |= state.reasons & kThrottles;
  readings.celsius_most = std::max(readings.celsius_most, state.celsius);
  readings.watts_most = std::max(readings.watts_most, state.watts);
  readings.joules = grown(card.before.joules, state.joules);
  readings.ecc_errors = grown(card.before.ecc_errors, state.ecc_errors);
  // An idle card lowers its clock, which is no disturbance.
  if (state.working && state.clock_mhz > 0) {
    readings.clock_most = std::max(readings.clock_most, state.clock_mhz);
    readings.clock_least =
        readings.clock_least == 0 ? state.clock_mhz : std::min(readings.clock_least, state.clock_mhz);
  }
  for (const int pid : state.processes) {
    if (family.pids.count(pid))
      card.sees_ours = true;
    else
      base::addOnce(card.unknown, pid);
  }
}

Readings Monitor::end(uint64_t number, double now) {
  look(now);
  count(now);
  const auto found = trials_.find(number);
  if (found == trials_.end()) return {};
  Trial trial = std::move(found->second);
  // The last look counted for this trial, too; from here on it no longer shares the cores.
  trials_.erase(found);
  settle(trial, now);
  return std::move(trial.readings);
}

void Monitor::settle(Trial& trial, double now) const {
  Readings& readings = trial.readings;
  readings.seconds = now - trial.began;
  const MemoryCounts &before = trial.before, &after = memory_;
  if (trial.accounted && trial.core_seconds >= kLeastCoreSeconds)
    readings.other_cpu = trial.others_seconds / trial.core_seconds;
  else
    readings.busy_others.clear();
  if (const auto pages = grown(before.swapped_pages, after.swapped_pages))
    readings.swapped = *pages * uint64_t(sysconf(_SC_PAGESIZE));
  readings.page_faults = grown(before.page_faults, after.page_faults);
  if (const auto waited = grown(before.pressure, after.pressure); waited && readings.seconds > 0)
    readings.pressure = std::min(1.0, *waited / readings.seconds);
  // The counter is that of the whole machine; with another trial beside it nobody knows whose energy it is.
  if (trial.alone && trial.joules_before) readings.joules = grown(trial.joules_before, readEnergy(root_));
  for (Card& card : trial.cards) {
    // The last look is older than the end of a trial that shares it.
    if (const auto state = at_ < now ? cards_.look(card.readings.index) : std::nullopt)
      card.readings.joules = grown(card.before.joules, state->joules);
    // In a PID namespace NVML may report numbers that are not ours. Only if it named a process of ours as we do, an
    // unknown number is somebody else's process.
    if (card.sees_ours)
      for (const int pid : card.unknown) base::addOnce(card.others, pid);
    for (const int pid : card.others) card.readings.others.push_back(processText(pid, root_));
    readings.gpus.push_back(std::move(card.readings));
  }
}

}  // namespace expc::validity
