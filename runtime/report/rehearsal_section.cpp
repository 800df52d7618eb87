#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/analysis/format.h"
#include "runtime/plan/devices.h"
#include "runtime/rehearsal/bound.h"
#include "runtime/report/layout.h"
#include "runtime/report/sections.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

using rehearsal::Outcome;

using Plan = const plan::Plan&;
using Planned = const plan::Point&;
using Seen = const rehearsal::Point&;

/// To show more of a point, add one.
struct RehearsalColumn {
  const char* name;
  bool exact;  // the same on every machine: it may stand on a report's page
  /// The cell of a point that runs: `seen.rehearsed` is there.
  std::string (*text)(Plan plan, Planned point, Seen seen);
};

/// What the memory model foretells, and the allocator counts.
constexpr const char* kPeakMetric = "device_memory_peak";

/// The most over the ranks.
template <typename Of>
auto most(const rehearsal::Point& seen, Of of) {
  decltype(of(seen.rehearsed->ranks[0])) found{};
  for (const plan::RehearsedRank& rank : seen.rehearsed->ranks) found = std::max(found, of(rank));
  return found;
}

template <typename Of>
double perStep(const rehearsal::Point& seen, Of of) {
  return static_cast<double>(most(seen, of)) / seen.rehearsed->steps;
}

std::string bytesText(double bytes) { return analysis::formatQuantity(bytes, "B", "bytes"); }
std::string numberText(double count) { return analysis::formatQuantity(count, ""); }

template <typename Of>
std::string bytesOf(const rehearsal::Point& seen, Of of) {
  return bytesText(static_cast<double>(most(seen, of)));
}

/// "3 (12.0 MiB)"
template <typename Of>
std::string trafficText(const rehearsal::Point& seen, Of of) {
  const double calls = perStep(seen, [&](const plan::RehearsedRank& rank) { return of(rank).calls; });
  if (calls == 0) return "0";
  const double bytes = perStep(seen, [&](const plan::RehearsedRank& rank) { return of(rank).bytes; });
  return fmt::format("{} ({})", numberText(calls), bytesText(bytes));
}

plan::Traffic collectivesOf(const plan::RehearsedRank& rank) {
  plan::Traffic all;
  for (const auto& [name, traffic] : rank.collectives) {
    all.calls += traffic.calls;
    all.bytes += traffic.bytes;
  }
  return all;
}

/// Most of a device's memory that the allocator of a rank gave out, in bytes; of a point that runs.
uint64_t rehearsedPeak(const plan::Rehearsed& rehearsed) {
  uint64_t peak = 0;
  for (const plan::RehearsedRank& rank : rehearsed.ranks) peak = std::max(peak, rank.device_memory_allocated);
  return peak;
}

/// The workload's estimate of that, in bytes, where it has one at the point.
std::optional<double> estimatedPeak(const plan::Point& point) {
  const auto found = point.estimates.find(kPeakMetric);
  return found == point.estimates.end() ? std::nullopt : std::optional(found->second);
}

/// "9.13 GiB (-2.0 %)": how far the estimate is from what was seen.
std::string estimateText(const plan::Plan&, const plan::Point& point, const rehearsal::Point& seen) {
  const auto estimate = estimatedPeak(point);
  if (!estimate) return "–";
  const auto peak = static_cast<double>(rehearsedPeak(*seen.rehearsed));
  return bytesText(*estimate) + (peak > 0 ? fmt::format(" ({:+.1f} %)", 100 * (*estimate / peak - 1)) : "");
}

/// What the point takes: of the rank that takes most.
const std::vector<RehearsalColumn>& memoryColumns() {
  static const std::vector<RehearsalColumn> columns = {
      {"peak", true, [](Plan, Planned, Seen seen) { return bytesText(double(rehearsedPeak(*seen.rehearsed))); }},
      {"estimate", true, estimateText},
      {"reserved", true,
       [](Plan, Planned, Seen seen) {
         return bytesOf(seen, [](const plan::RehearsedRank& rank) { return rank.device_memory_reserved; });
       }},
      {"host", false, [](Plan, Planned, Seen seen) {
         return bytesOf(seen, [](const plan::RehearsedRank& rank) { return rank.host_memory; });
       }}};
  return columns;
}

/// What a step does: of the rank that does most.
const std::vector<RehearsalColumn>& stepColumns() {
  static const std::vector<RehearsalColumn> columns = {
      {"launches", true,
       [](Plan, Planned, Seen seen) {
         return numberText(perStep(seen, [](const plan::RehearsedRank& rank) { return rank.launches; }));
       }},
      {"waits", true,
       [](Plan, Planned, Seen seen) {
         return numberText(perStep(seen, [](const plan::RehearsedRank& rank) { return rank.synchronisations; }));
       }},
      {"to device", true,
       [](Plan, Planned, Seen seen) {
         return trafficText(seen, [](const plan::RehearsedRank& rank) { return rank.to_device; });
       }},
      {"from device", true,
       [](Plan, Planned, Seen seen) {
         return trafficText(seen, [](const plan::RehearsedRank& rank) { return rank.from_device; });
       }},
      {"collectives", true, [](Plan, Planned, Seen seen) { return trafficText(seen, collectivesOf); }},
      {"host time", false,
       [](Plan, Planned, Seen seen) {
         return analysis::formatQuantity(
             perStep(seen, [](const plan::RehearsedRank& rank) { return rank.host_seconds; }), "s", "time");
       }},
      {"at least", false, [](Plan plan, Planned point, Seen seen) {
         const auto least = rehearsal::leastStep(*seen.rehearsed, plan::devicesOf(point), plan.rates);
         return least ? fmt::format("{} ({})", analysis::formatQuantity(least->seconds, "s", "time"),
                                    toString(least->limit))
                      : "–";
       }}};
  return columns;
}

/// "runs", "does not fit, as expected", "runs, though expected not to fit".
std::string outcomeText(const plan::Point& point, const rehearsal::Point& seen) {
  std::string text(toString(seen.outcome));
  if (point.expected_infeasible.empty()) return text;
  if (seen.outcome == rehearsal::Outcome::DoesNotFit) return text + ", as expected";
  if (seen.rehearsed) return text + ", though expected not to fit";
  return text;
}

/// "4 cards of 87.5 GiB"; of rehearsals on several each.
std::string cardsText(const rehearsal::Study& study) {
  std::vector<std::string> texts;
  for (const rehearsal::Point& seen : study.points) {
    if (seen.outcome == rehearsal::Outcome::NotRehearsed) continue;
    std::string text = counted(seen.cards.count, "card") + " of " + bytesText(static_cast<double>(seen.cards.memory));
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  return joined(texts, "; ");
}

/// "runs", of several "run".
std::string verb(Outcome outcome, size_t points) {
  if (points != 1 && outcome == Outcome::Runs) return "run";
  if (points != 1 && outcome == Outcome::LacksData) return "lack data";
  if (points != 1 && outcome == Outcome::DoesNotFit) return "do not fit";
  return std::string(toString(outcome));
}

/// Whole sentences of a long reason: CUDA's advice on memory that ran out fills eight lines. JSON has all of it.
std::string beginningOf(const std::string& reason) {
  constexpr size_t most = 240;
  if (reason.size() <= most) return reason;
  const size_t end = reason.rfind(". ", most);
  return end == std::string::npos ? reason : reason.substr(0, end + 1) + " …";
}

size_t countOf(const rehearsal::Study& study, Outcome outcome) {
  return static_cast<size_t>(std::count_if(study.points.begin(), study.points.end(),
                                           [&](const rehearsal::Point& seen) { return seen.outcome == outcome; }));
}

std::string titleRest(const plan::Plan& plan, const rehearsal::Study& study) {
  const size_t all = plan.points.size();
  std::string text = study.points.size() == all ? counted(all, "point")
                                                : fmt::format("{} of {}", study.points.size(), counted(all, "point"));
  if (const std::string cards = cardsText(study); !cards.empty()) text += " on " + cards + ", which compute nothing";
  return text;
}

/// A row for each point; without outcomes only those that run have something to show.
Table pointsTable(const plan::Plan& plan, const rehearsal::Study& study, const std::vector<RehearsalColumn>& columns,
                  bool outcomes, size_t most) {
  Table table{.label = outcomes ? "What rehearsals saw" : "What a step does",
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
  for (const RehearsalColumn& column : columns)
    table.columns.push_back({column.name, Column::Kind::Number, column.exact ? Shown::Everywhere : Shown::InText});
  for (const plan::Point& point : plan.points) {
    const rehearsal::Point* seen = study.find(point.id);
    if (!seen || (!outcomes && !seen->rehearsed) || ++table.all > kMostRows) continue;
    Row row;
    for (const size_t factor : varying) row.add(plan.levelLabel(point, factor));
    if (varying.empty()) row.add(point.id);
    if (outcomes) row.add(outcomeText(point, *seen));
    for (const RehearsalColumn& column : columns) row.add(seen->rehearsed ? column.text(plan, point, *seen) : "");
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// A bound of the whole plan. Of points that were not rehearsed nothing is known, so it is one of less than all then.
std::string leastText(const plan::Plan& plan, const rehearsal::Study& study) {
  const auto seconds = rehearsal::leastDeviceSeconds(plan, study);
  if (!seconds) return "";
  return fmt::format("by the rates of {} the steps of the plan take at least {} GPU hours (a bound, not measured)",
                     plan.system, analysis::formatQuantity(*seconds / 3600, ""));
}

/// Which estimate is farthest from what was seen.
std::string farthestEstimate(const plan::Plan& plan, const rehearsal::Study& study) {
  const plan::Point* at = nullptr;
  double farthest = -1;
  for (const plan::Point& point : plan.points) {
    const rehearsal::Point* seen = study.find(point.id);
    const auto estimate = estimatedPeak(point);
    if (!estimate || !seen || !seen->rehearsed || rehearsedPeak(*seen->rehearsed) == 0) continue;
    const double off = std::abs(*estimate / static_cast<double>(rehearsedPeak(*seen->rehearsed)) - 1);
    if (off <= farthest) continue;
    farthest = off;
    at = &point;
  }
  return at ? fmt::format("estimates of the peak are at most {:.1f} % off (at {})", 100 * farthest, plan.label(*at))
            : "";
}

}  // namespace

rehearsal::Study rehearsalOf(const plan::Plan& plan, const rehearsal::Study& study) {
  rehearsal::Study known{study.study, {}};
  for (const plan::Point& point : plan.points)
    if (const rehearsal::Point* seen = study.find(point.id)) known.points.push_back(*seen);
  return known;
}

Part rehearsalPart(const plan::Plan& plan, const rehearsal::Study& all, const RehearsalOptions& options) {
  const rehearsal::Study study = rehearsalOf(plan, all);
  Part part{.title = "Rehearsed", .rest = titleRest(plan, study)};
  if (study.points.empty()) return part;
  const auto say = [&](std::string text, Shown shown = Shown::Everywhere) {
    if (!text.empty())
      part.blocks.emplace_back(Paragraph{.text = std::move(text), .tone = Tone::Plain, .shown = shown});
  };
  const std::string cards = cardsText(study);
  say(fmt::format(
          "Not measured: a few steps on {} that compute nothing, counted. Memory is of the rank that takes most, "
          "the rest is of a step of the rank that does most. No verdict comes from it.",
          cards.empty() ? "cards" : cards),
      Shown::OnPage);
  part.blocks.emplace_back(pointsTable(plan, study, memoryColumns(), /*outcomes=*/true, options.most_points));
  if (options.steps && countOf(study, Outcome::Runs) + countOf(study, Outcome::LacksData) > 0)
    part.blocks.emplace_back(
        Part{.title = "A step",
             .rest = "of the rank that does most",
             .blocks = {pointsTable(plan, study, stepColumns(), /*outcomes=*/false, options.most_points)}});
  for (const Outcome outcome : {Outcome::LacksData, Outcome::Failed, Outcome::DoesNotFit, Outcome::NotRehearsed}) {
    Reasons reasons;
    for (const rehearsal::Point& seen : study.points)
      if (seen.outcome == outcome) reasons.add(beginningOf(seen.reason), seen.label);
    for (std::string& text : reasons.lines(verb(outcome, 1), verb(outcome, 2))) say(std::move(text));
    if (outcome == Outcome::Failed && countOf(study, outcome) > 0 && !options.logs.empty())
      say("what ranks printed lies in " + options.logs, Shown::InText);
  }
  std::vector<std::string> counts;
  for (const Outcome outcome :
       {Outcome::Runs, Outcome::LacksData, Outcome::Failed, Outcome::DoesNotFit, Outcome::NotRehearsed})
    if (const size_t number = countOf(study, outcome); number > 0)
      counts.push_back(fmt::format("{} {}", number, verb(outcome, number)));
  say(joined(counts));
  say(farthestEstimate(plan, study));
  say(leastText(plan, study), Shown::InText);  // rates are of one system, and no page is
  return part;
}

}  // namespace expc::report
