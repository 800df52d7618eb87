// TrialWatch: from reports and times to a status and a reason. docs/layers/engine.md has the table of ends.
//
// The order of rules: lost by the launcher; all ranks have exited; complaints, after a moment to settle; the time
// limit; ranks that do not end after the result. Being over is checked before any limit, so a late look never fails a
// trial that ended in time.

#include "runtime/engine/launch/trial_watch.h"

#include <llvm/ADT/STLExtras.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/engine/launch/worker_client.h"

namespace expc::engine::launch {
namespace {

// Seconds from the first complaint until the weightiest one is believed, so that the cause can be found. A rank that
// only lost the others knows no cause, and on a busy machine or over nodes the rank that knows it may be slower, so
// that wait is longer.
constexpr double kSettle = 0.3, kSettleLost = 5;
// A signal for the whole job reaches the trial's ranks and the engine at about the same time, in either order. Seconds
// to wait for it after a bad end, which is then an interruption.
constexpr double kToldAsWell = 0.1;
// After rank 0's result the ranks get as long to end as the trial's limit, but within these bounds, in seconds.
constexpr double kLeastTeardown = 1, kMostTeardown = 30;
// Seconds within which the ranks of a command that meets its limit may say where they are.
constexpr double kAnswer = 5;
// An engine that did not look for kAway seconds was suspended, or in a call that hung. Reports of that time may still
// be on their way, since a launch server may have been suspended, too. So no limit is enforced for kAfterAway seconds.
constexpr double kAway = 2, kAfterAway = 1;
constexpr unsigned kMostAway = 10;  // else a machine that is always slow would never enforce a limit

}  // namespace

TrialWatch::TrialWatch(const TrialRequest& request, double now)
    : request_(request),
      started_(now),
      ranks_(request.spec.world_size),
      deadline_(now + request.timeout_seconds),
      last_look_(now) {}

void TrialWatch::complain(Rank& rank, Weight weight, std::string reason, bool said, bool named) {
  // Once the trial is being killed, exits and words of its ranks mean nothing.
  if (stopping_ || weight <= rank.weight) return;
  rank.weight = weight;
  rank.complained = ++complaints_;
  rank.reason = std::move(reason);
  rank.said = said;
  rank.named = named;
}

void TrialWatch::take(RankReport report) {
  // Each node sends its own readings of the trial.
  std::optional<validity::Readings>& seen = end_.readings;
  if (report.readings) seen = seen ? validity::together(*seen, *report.readings) : std::move(report.readings);
  end_.stuck.insert(end_.stuck.end(), report.stuck.begin(), report.stuck.end());
  if (report.what == RankReport::Lost) {
    // A lost trial has no exits; the report stands for them. With its node lost, the trial is interrupted and repeated.
    last_exit_ = report.at;
    if (report.with_node) stop(TrialStatus::Interrupted, report.text);
    lost_ = std::move(report.text);
    return;
  }
  // Ranks come from other machines, too, so they are checked.
  if (report.rank >= ranks_.size()) return;
  Rank& rank = ranks_[report.rank];
  switch (report.what) {
    case RankReport::Said:
      return takeEvent(rank, report);
    case RankReport::Nonsense:
      return complain(rank, Weight::Nonsense, std::move(report.text));
    case RankReport::Exited:
      return takeExit(rank, report);
    default:
      return;
  }
}

void TrialWatch::takeEvent(Rank& rank, RankReport& report) {
  protocol::Event& event = report.event;
  if (answers_until_ && event.type == protocol::Event::Type::Failed)
    return void(places_.emplace(report.rank, std::move(event.reason)));
  switch (event.type) {
    case protocol::Event::Type::Failed:
      return complain(rank, event.lost_others ? Weight::LostOthers : Weight::SaidFailed, event.reason, true,
                      event.names_rank);
    case protocol::Event::Type::Infeasible:
      end_.host_memory |= event.host_memory;
      return complain(rank, Weight::OutOfMemory, event.reason, true, event.names_rank);
    case protocol::Event::Type::Result:
      if (rank.had_result) complain(rank, Weight::Nonsense, "sent a second result");
      rank.had_result = true;
      // Only rank 0's result counts, and only its first.
      if (report.rank != 0 || result_) return;
      result_ = std::move(event);
      teardown_until_ = report.at + teardownSeconds();
      return;
    default:
      return;
  }
}

void TrialWatch::takeExit(Rank& rank, const RankReport& report) {
  rank.exited = true;
  last_exit_ = std::max(last_exit_, report.at);
  const int status = report.status;
  const bool ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  // The kernel may kill a helper process, such as a loader, while the rank goes on and ends well. That is a note, no
  // failure.
  if (ended_well && !report.out_of_memory.empty()) notes_.emplace_back(plan::Note::WentOn, "", 0, report.out_of_memory);
  if (!ended_well && !report.out_of_memory.empty()) {
    end_.host_memory = true;
    const std::string words = rank.said ? rank.reason : statusText(status);
    complain(rank, Weight::OutOfMemory, fmt::format("ran out of memory ({}): {}", report.out_of_memory, words));
    // The rank was killed for memory before we killed the rest; the exit report only came later. So the trial is
    // infeasible.
    if (stopping_ && end_.status == TrialStatus::Failed && blamed_ == report.rank) {
      end_.status = TrialStatus::Infeasible;
      end_.reason = fmt::format("{} ran out of memory ({}): {}", nameOf(report.rank), report.out_of_memory, words);
    }
    return;
  }
  // SIGKILL comes from people, schedulers and the memory killer alike, and the status does not tell which.
  if (WIFSIGNALED(status)) {
    rank.killed = WTERMSIG(status) == SIGKILL;
    const char* who = rank.killed ? "; the sender of the signal is unknown" : "";
    complain(rank, Weight::Signal, fmt::format("was {}{}", statusText(status), who));
  } else if (!ended_well && rank.weight == Weight::None) {  // a rank that said why it fails has the better words
    complain(rank, Weight::BadExit, statusText(status));
  }
}

void TrialWatch::interrupt() {
  if (!allExited() || ranks_[worst()].weight != Weight::None) stop(TrialStatus::Interrupted, "interrupted by the user");
}

void TrialWatch::flooded(unsigned rank) {
  stop(TrialStatus::Failed,
       fmt::format("{} logged more than {}", nameOf(rank), protocol::logLimitText(request_.spec.log_limit)), rank);
}

TrialWatch::Next TrialWatch::judge(double now) {
  // First whether it is over, then the limits: whoever looks late must find that a trial ended in time.
  if (lost_) {
    if (!stopping_ && now < last_exit_ + kToldAsWell) return Next::Wait;
    stop(TrialStatus::Failed, *lost_);
    return Next::Ended;
  }
  if (allExited()) {
    last_look_ = now;
    return stopping_ || ranks_[worst()].weight == Weight::None || now >= last_exit_ + kToldAsWell ? Next::Ended
                                                                                                  : Next::Wait;
  }
  if (!stopping_) judgeTime(now);
  last_look_ = now;
  // Killing is asked for once; the launcher reports the exits.
  if (!stopping_ || kill_said_) return Next::Wait;
  if (answers_until_ && !std::exchange(asked_, true)) return Next::Ask;
  if (answers_until_ && now < *answers_until_) return Next::Wait;
  kill_said_ = true;
  return Next::Kill;
}

void TrialWatch::judgeTime(double now) {
  if (now - last_look_ > kAway && away_++ < kMostAway) {
    deadline_ = std::max(deadline_, now + kAfterAway);
    if (teardown_until_) teardown_until_ = std::max(*teardown_until_, now + kAfterAway);
  }
  // A complaint is weighed before the limits, because it says more than "not finished".
  const unsigned rank = worst();
  if (ranks_[rank].weight != Weight::None) {
    if (!trouble_since_) trouble_since_ = now;
    // Nothing outweighs OutOfMemory, so it needs no wait.
    if (ranks_[rank].weight == Weight::OutOfMemory || now >= weighedAt()) weighComplaints();
  } else if (!result_ && now >= deadline_) {
    stop(TrialStatus::Timeout,
         fmt::format("not finished after {:.3g} s (--timeout sets another limit)", request_.timeout_seconds));
    if (request_.spec.command && !request_.spec.isService()) answers_until_ = now + kAnswer;
  } else if (teardown_until_ && now >= *teardown_until_) {
    const unsigned number = std::ranges::find(ranks_, false, &Rank::exited) - ranks_.begin();
    stop(TrialStatus::Failed,
         fmt::format("{} did not end within {:.3g} s of the result", nameOf(number), teardownSeconds()), number);
  }
}

double TrialWatch::wakeAt() const {
  if (lost_ || allExited()) return last_exit_ + kToldAsWell;
  if (stopping_) return answers_until_ && !kill_said_ ? *answers_until_ : last_look_ + kAway;
  double moment = result_ ? *teardown_until_ : deadline_;
  if (trouble_since_) moment = std::min(moment, weighedAt());
  // Half of kAway, so that a short delay of the caller is not taken for a suspension.
  return std::min(moment, last_look_ + kAway / 2);
}

double TrialWatch::weighedAt() const {
  return *trouble_since_ + (ranks_[worst()].weight == Weight::LostOthers ? kSettleLost : kSettle);
}

double TrialWatch::teardownSeconds() const {
  return std::clamp(request_.timeout_seconds, kLeastTeardown, kMostTeardown);
}

void TrialWatch::stop(TrialStatus status, std::string reason, unsigned rank) {
  if (stopping_) return;
  stopping_ = true;
  end_.status = status;
  end_.reason = std::move(reason);
  blamed_ = rank;
}

bool TrialWatch::allExited() const { return std::ranges::all_of(ranks_, &Rank::exited); }

unsigned TrialWatch::worst() const {
  // The earlier of two equal complaints counts as the weightier.
  const auto less = [](const Rank& a, const Rank& b) {
    return a.weight != b.weight ? a.weight < b.weight : a.complained > b.complained;
  };
  return std::ranges::max_element(ranks_, less) - ranks_.begin();
}

void TrialWatch::weighComplaints() {
  const unsigned number = worst();
  const Rank& rank = ranks_[number];
  const TrialStatus status = rank.weight == Weight::OutOfMemory ? TrialStatus::Infeasible : TrialStatus::Failed;
  silent_ = !rank.said && (rank.weight == Weight::BadExit || rank.weight == Weight::Signal) && !rank.killed;
  // The only rank's own words need no name before them: mostly they are about the user's program.
  const bool alone = rank.said && request_.spec.world_size == 1;
  stop(status,
       rank.named || alone ? rank.reason : fmt::format("{}{}{}", nameOf(number), rank.said ? ": " : " ", rank.reason),
       number);
}

std::string TrialWatch::nameOf(unsigned rank) const {
  return request_.spec.world_size == 1 ? "the worker" : fmt::format("rank {}", rank);
}

/// Whether rows of the result have the metric.
static bool isOfRows(const protocol::Event& result, const std::string& metric) {
  return llvm::any_of(result.rows,
                      [&](const auto& row) { return row.second.getAsObject()->getObject("metrics")->get(metric); });
}

std::map<std::string, store::Values> rowsOf(const protocol::Event& result) {
  std::map<std::string, store::Values> rows;
  for (const auto& [key, row] : result.rows) {
    store::Values& values = rows[key.str()];
    const json::Object& object = *row.getAsObject();
    const json::Object* series = object.getObject("series");
    for (const auto& [name, value] : series ? *series : json::Object())
      values.series[name.str()] = base::measuredNumbers(value);
    for (const auto& [name, value] : *object.getObject("metrics")) {
      if (const auto number = base::measuredNumber(value))
        values.metrics[name.str()] = *number;
      else if (!values.series.contains(name.str()))
        values.not_on_device.push_back(name.str());
    }
  }
  return rows;
}

void TrialWatch::noteDiverged(const std::string& what, double value) {
  if (!std::isfinite(value)) notes_.emplace_back(plan::Note::Diverged, what, value);
}

/// All ranks ended well. The trial is valid if rank 0's result has every metric that was asked for.
void TrialWatch::takeResult() {
  if (!result_) return stop(TrialStatus::Failed, "the worker ended without a result");
  for (const std::string& name : request_.spec.metrics) {
    const json::Value* value = result_->metrics.get(name);
    if (result_->series.get(name) && (!value || value->getAsNull())) continue;  // a series, taken below
    if (!value && isOfRows(*result_, name)) continue;
    if (!value) return stop(TrialStatus::Failed, fmt::format("the worker's result has no metric {}", name));
    // NaN and infinity are values: a training that diverged is a result. Null means that this device has no such
    // metric.
    if (auto number = base::measuredNumber(*value)) {
      end_.metrics[name] = *number;
      noteDiverged(name, *number);
    } else {
      end_.not_on_device.push_back(name);
    }
  }
  for (const auto& [name, value] : result_->series) end_.series[name.str()] = base::measuredNumbers(value);
  end_.rows = rowsOf(*result_);
  for (const auto& [key, row] : end_.rows)
    for (const auto& [name, number] : row.metrics) noteDiverged(fmt::format("{} of {}", name, key), number);
  if (request_.spec.rehearsal && !result_->rehearsed) {
    return stop(TrialStatus::Failed,
                "the worker's result has no rehearsal: the worker is older than this expc; build both from one tree");
  }
  end_.rehearsed = std::move(result_->rehearsed);
  end_.status = TrialStatus::Valid;
  end_.environment = std::move(result_->environment);
  end_.notes = std::move(result_->notes);
  end_.notes.insert(end_.notes.end(), notes_.begin(), notes_.end());
}

TrialEnd TrialWatch::end() {
  // All ranks have exited: what was not decided by time is decided now.
  if (!stopping_ && ranks_[worst()].weight != Weight::None) weighComplaints();
  if (!stopping_) takeResult();
  for (const auto& [rank, place] : places_)
    end_.reason += fmt::format("{}{}{}", &place == &places_.begin()->second ? ": " : "; ",
                               request_.spec.world_size == 1 ? "" : nameOf(rank) + ": ", place);
  end_.seconds = std::max(0.0, last_exit_ - started_);
  return std::move(end_);
}

}  // namespace expc::engine::launch
