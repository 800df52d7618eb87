// Shows what rehearsals saw: for each point whether it runs and fits, the memory it takes, and on request what a step
// does. Counts and bytes are the same on every machine, so the page shows them; times and host memory depend on this
// one and stay in texts. Nothing here is a measurement, and the first sentence says so.

#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/numbers.h"
#include "runtime/rehearsal/rehearsal.h"
#include "runtime/report/paint.h"
#include "runtime/report/sections.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

using rehearsal::Outcome;

/// The metric that estimates of memory forecast and the allocator counts.
constexpr const char* kPeakMetric = "device_memory_peak";

/// Formats bytes, seconds and counts.
std::string bytesText(double bytes) { return formatQuantity(bytes, "B", "bytes"); }
/// Formats a size of memory; 0 means that nothing was counted.
std::string memoryText(uint64_t bytes) { return bytes == 0 ? "not counted" : bytesText(double(bytes)); }
std::string secondsText(double seconds) { return formatQuantity(seconds, "s", "time"); }
std::string numberText(double count) { return formatQuantity(count, ""); }

/// Returns the calls and bytes of a step: "3 (12.0 MiB)", from the totals of `steps`.
std::string trafficText(const protocol::Traffic& traffic, double steps) {
  if (traffic.calls == 0) return "0";
  return fmt::format("{} ({})", numberText(double(traffic.calls) / steps), bytesText(double(traffic.bytes) / steps));
}

/// Returns the largest value of each counter over all ranks, each by itself; all collectives are added up as one.
protocol::RehearsedRank mostOf(const protocol::Rehearsed& rehearsed) {
  protocol::RehearsedRank most;
  const auto raise = [](auto& to, auto value) { to = std::max(to, value); };
  const auto raiseTraffic = [&](protocol::Traffic& to, const protocol::Traffic& traffic) {
    raise(to.calls, traffic.calls);
    raise(to.bytes, traffic.bytes);
  };
  for (const protocol::RehearsedRank& rank : rehearsed.ranks) {
    raise(most.device_memory_allocated, std::max(rank.device_memory_allocated, rank.widest_allocated));
    raise(most.device_memory_reserved, std::max(rank.device_memory_reserved, rank.widest_reserved));
    raise(most.host_memory, rank.host_memory);
    raise(most.launches, rank.launches);
    raise(most.synchronisations, rank.synchronisations);
    raise(most.host_seconds, rank.host_seconds);
    raiseTraffic(most.to_device, rank.to_device);
    raiseTraffic(most.from_device, rank.from_device);
    protocol::Traffic collectives;
    for (const auto& [name, traffic] : rank.collectives) {
      collectives.calls += traffic.calls;
      collectives.bytes += traffic.bytes;
    }
    raiseTraffic(most.collectives[""], collectives);
  }
  return most;
}

/// Returns the workload's estimate of the peak in bytes, if it has one at the point.
std::optional<double> estimatedPeak(const Point& point) { return valueIn(point.estimates, kPeakMetric); }

/// Returns the estimate and how far it is from the counted peak: "9.13 GiB (-2.0 %)".
std::string estimateText(const Point& point, double peak) {
  const auto estimate = estimatedPeak(point);
  if (!estimate) return "–";
  return bytesText(*estimate) + (peak > 0 ? fmt::format(" ({:+.1f} %)", 100 * (*estimate / peak - 1)) : "");
}

/// A column of a point that runs: its name, whether it is the same on every machine (and so may stand on a page), and
/// the cell's text.
struct RehearsedValue {
  const char* name;
  bool exact;
  std::string text;
};

/// Returns the columns about memory.
std::vector<RehearsedValue> memoryOf(const Plan&, const Point& point, const protocol::Rehearsed& seen) {
  const protocol::RehearsedRank most = mostOf(seen);
  return {{"peak", true, memoryText(most.device_memory_allocated)},
          {"estimate", true, estimateText(point, double(most.device_memory_allocated))},
          {"reserved", true, memoryText(most.device_memory_reserved)},
          {"host", false, memoryText(most.host_memory)}};
}

/// Returns the columns about a step.
std::vector<RehearsedValue> stepOf(const Plan& plan, const Point& point, const protocol::Rehearsed& seen) {
  protocol::RehearsedRank most = mostOf(seen);
  const double steps = seen.steps;
  const auto least = rehearsal::leastStep(seen, plan::devicesOf(point), plan.rates);
  return {{"kernel launches", true, numberText(double(most.launches) / steps)},
          {"host waits", true, numberText(double(most.synchronisations) / steps)},
          {"copies to GPU", true, trafficText(most.to_device, steps)},
          {"copies from GPU", true, trafficText(most.from_device, steps)},
          {"collectives", true, trafficText(most.collectives[""], steps)},
          {"CPU time", false, most.host_seconds > 0 ? secondsText(most.host_seconds / steps) : "–"},
          {"lower bound", false,
           least ? fmt::format("{} ({})", secondsText(least->seconds), toString(least->limit)) : "–"}};
}

/// Returns an outcome beside its expectation: "runs", "does not fit, as expected", "runs, though expected not to fit".
std::string outcomeText(const Point& point, const rehearsal::Point& seen) {
  std::string text(toString(seen.outcome));
  if (point.expected_infeasible.empty()) return text;
  if (seen.outcome == rehearsal::Outcome::DoesNotFit) return text + ", as expected";
  if (seen.rehearsed) return text + ", although the estimate says it does not fit";
  return text;
}

/// Returns the cards of the rehearsals: "4 cards of 87.5 GiB", each kind once.
std::string cardsText(const rehearsal::Study& study) {
  std::vector<std::string> texts;
  for (const rehearsal::Point& seen : study.points) {
    if (seen.outcome == rehearsal::Outcome::NotRehearsed) continue;
    base::addOnce(texts, counted(seen.cards.count, "simulated GPU") + " of " + bytesText(double(seen.cards.memory)));
  }
  return joined(texts, "; ");
}

/// Returns the verb for an outcome, singular or plural.
std::string verb(Outcome outcome, size_t points) {
  if (points != 1 && outcome == Outcome::Runs) return "run";
  if (points != 1 && outcome == Outcome::LacksData) return "lack data";
  if (points != 1 && outcome == Outcome::DoesNotFit) return "do not fit";
  return std::string(toString(outcome));
}

/// Returns the first whole sentences of a long reason: CUDA's advice on memory that ran out fills eight lines. The JSON
/// has all of it.
std::string beginningOf(const std::string& reason) {
  constexpr size_t most = 240;
  if (reason.size() <= most) return reason;
  // Cut at the end of a sentence, since half a sentence of advice misleads.
  const size_t end = reason.rfind(". ", most);
  return end == std::string::npos ? reason : reason.substr(0, end + 1) + " …";
}

/// Counts the points with an outcome.
size_t countOf(const rehearsal::Study& study, Outcome outcome) {
  return size_t(std::ranges::count(study.points, outcome, &rehearsal::Point::outcome));
}

/// Returns how many points were rehearsed, and on which cards.
std::string titleRest(const Plan& plan, const rehearsal::Study& study) {
  const size_t all = plan.points.size();
  std::string text = study.points.size() == all ? counted(all, "point")
                                                : fmt::format("{} of {}", study.points.size(), counted(all, "point"));
  if (const std::string cards = cardsText(study); !cards.empty()) text += " on " + cards;
  return text;
}

/// Returns a table with a row for each point, with the columns of `values`; without `outcomes` only points that run.
Table pointsTable(const Plan& plan, const rehearsal::Study& study, decltype(memoryOf)& values, bool outcomes,
                  size_t most) {
  Table table{.label = outcomes ? "Outcomes of the rehearsals" : "Counts per step",
              .style = "grid",
              .one_row = "point",
              .most = most,
              .rest = ""};
  std::vector<size_t> varying;
  for (size_t i = 0; i < plan.factors.size(); ++i)
    if (plan.factors[i].levels.size() > 1) varying.push_back(i);
  for (const size_t factor : varying) table.columns.push_back({plan.factors[factor].name, Column::Kind::Label});
  if (varying.empty()) table.columns.push_back({"point", Column::Kind::Label});
  if (outcomes) table.columns.push_back({"rehearsed", Column::Kind::Words});
  // The names of the columns do not depend on the point, so an empty rehearsal gives them. If no point ran, the table
  // has no such columns.
  std::vector<RehearsedValue> none;
  if (std::ranges::any_of(study.points, [](const rehearsal::Point& seen) { return seen.rehearsed.has_value(); }))
    none = values(plan, {}, {.steps = 1, .ranks = {}});
  for (const RehearsedValue& value : none)
    table.columns.push_back({value.name, Column::Kind::Number, value.exact ? Shown::Everywhere : Shown::InText});
  for (const Point& point : plan.points) {
    const rehearsal::Point* seen = study.find(point.id);
    if (!seen || (!outcomes && !seen->rehearsed) || ++table.all > kMostRows) continue;
    Row row;
    for (const size_t factor : varying) row.add(plan.levelLabel(point, factor));
    if (varying.empty()) row.add(point.id);
    if (outcomes) row.add(outcomeText(point, *seen));
    for (const RehearsedValue& value : seen->rehearsed ? values(plan, point, *seen->rehearsed) : none)
      row.add(seen->rehearsed ? value.text : "");
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Returns a lower bound for the time of the whole plan. Points that were not rehearsed are missing in it, so it stays
/// a bound.
std::string leastText(const Plan& plan, const rehearsal::Study& study) {
  const auto seconds = rehearsal::leastDeviceSeconds(plan, study);
  if (!seconds) return "";
  return fmt::format("lower bound for the plan: {1} GPU hours (from the rates of {0}; not measured)", plan.system,
                     formatQuantity(*seconds / 3600, ""));
}

/// Names the estimate of the peak that is farthest from what was counted.
std::string farthestEstimate(const Plan& plan, const rehearsal::Study& study) {
  const Point* at = nullptr;
  double farthest = -1;
  for (const Point& point : plan.points) {
    const rehearsal::Point* seen = study.find(point.id);
    const auto estimate = estimatedPeak(point);
    const double peak = seen && seen->rehearsed ? double(mostOf(*seen->rehearsed).device_memory_allocated) : 0;
    if (!estimate || peak == 0) continue;
    const double off = std::abs(*estimate / peak - 1);
    // One number stands for all: a reader wants to know how far estimates can be off.
    if (off <= farthest) continue;
    farthest = off;
    at = &point;
  }
  return at ? fmt::format("memory estimates are within {:.1f} % of the rehearsed peak (worst at {})", 100 * farthest,
                          plan.label(*at))
            : "";
}

}  // namespace

rehearsal::Study rehearsalOf(const Plan& plan, const rehearsal::Study& study) {
  rehearsal::Study known{study.study, {}};
  for (const Point& point : plan.points)
    if (const rehearsal::Point* seen = study.find(point.id)) known.points.push_back(*seen);
  return known;
}

Part rehearsalPart(const Plan& plan, const rehearsal::Study& all, const RehearsalOptions& options) {
  const rehearsal::Study study = rehearsalOf(plan, all);
  Part part{.title = "Rehearsed", .rest = titleRest(plan, study)};
  if (study.points.empty()) return part;
  const auto say = [&](std::string text, Shown shown = Shown::Everywhere) {
    if (!text.empty())
      part.blocks.emplace_back(Paragraph{.text = std::move(text), .tone = Tone::Plain, .shown = shown});
  };
  const std::string cards = cardsText(study);
  const bool programs = plan.hasCommands();
  say(fmt::format(
          "Not measured: a few steps on {}. Memory is that of the rank with the highest peak; counts are {}, of "
          "the busiest rank. No verdict uses them.",
          cards.empty() ? "simulated GPUs" : cards, programs ? "those of the whole process" : "per step"),
      Shown::OnPage);
  part.blocks.emplace_back(pointsTable(plan, study, memoryOf, /*outcomes=*/true, options.most_points));
  if (options.steps && countOf(study, Outcome::Runs) + countOf(study, Outcome::LacksData) > 0)
    part.blocks.emplace_back(
        Part{.title = programs ? "Whole process" : "Per step",
             .rest = "busiest rank",
             .blocks = {pointsTable(plan, study, stepOf, /*outcomes=*/false, options.most_points)}});
  // Outcomes that need attention come with their reasons, points with the same reason in one line.
  for (const Outcome outcome : {Outcome::LacksData, Outcome::Failed, Outcome::DoesNotFit, Outcome::NotRehearsed}) {
    Reasons reasons;
    for (const rehearsal::Point& seen : study.points)
      if (seen.outcome == outcome) reasons[beginningOf(seen.reason)].push_back(seen.label);
    for (std::string& text : reasonLines(reasons, verb(outcome, 1), verb(outcome, 2))) say(std::move(text));
    if (outcome == Outcome::Failed && countOf(study, outcome) > 0 && !options.logs.empty())
      say("logs: " + options.logs, Shown::InText);
  }
  std::vector<std::string> counts;
  for (const Outcome outcome :
       {Outcome::Runs, Outcome::LacksData, Outcome::Failed, Outcome::DoesNotFit, Outcome::NotRehearsed})
    if (const size_t number = countOf(study, outcome); number > 0)
      counts.push_back(fmt::format("{} {}", number, verb(outcome, number)));
  // Reasons were counted already.
  if (counts.size() > 1 || countOf(study, Outcome::NotRehearsed) == 0) say(joined(counts));
  say(farthestEstimate(plan, study));
  say(leastText(plan, study), Shown::InText);  // rates are of one system, and no page is
  return part;
}

}  // namespace expc::report
