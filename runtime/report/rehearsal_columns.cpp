#include "runtime/report/rehearsal_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/analysis/format.h"
#include "runtime/plan/devices.h"
#include "runtime/rehearsal/bound.h"
#include "runtime/report/layout.h"

namespace expc::report {
namespace {

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
std::string countText(double count) { return analysis::formatQuantity(count, ""); }

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
  return fmt::format("{} ({})", countText(calls), bytesText(bytes));
}

plan::Traffic collectivesOf(const plan::RehearsedRank& rank) {
  plan::Traffic all;
  for (const auto& [name, traffic] : rank.collectives) {
    all.calls += traffic.calls;
    all.bytes += traffic.bytes;
  }
  return all;
}

/// "9.13 GiB (-2.0 %)": how far the estimate is from what was seen.
std::string estimateText(const plan::Plan&, const plan::Point& point, const rehearsal::Point& seen) {
  const auto estimate = estimatedPeak(point);
  if (!estimate) return "–";
  const auto peak = static_cast<double>(rehearsedPeak(*seen.rehearsed));
  return bytesText(*estimate) + (peak > 0 ? fmt::format(" ({:+.1f} %)", 100 * (*estimate / peak - 1)) : "");
}

}  // namespace

const std::vector<RehearsalColumn>& memoryColumns() {
  using Plan = const plan::Plan&;
  using Planned = const plan::Point&;
  using Seen = const rehearsal::Point&;
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

const std::vector<RehearsalColumn>& stepColumns() {
  using Plan = const plan::Plan&;
  using Planned = const plan::Point&;
  using Seen = const rehearsal::Point&;
  static const std::vector<RehearsalColumn> columns = {
      {"launches", true,
       [](Plan, Planned, Seen seen) {
         return countText(perStep(seen, [](const plan::RehearsedRank& rank) { return rank.launches; }));
       }},
      {"waits", true,
       [](Plan, Planned, Seen seen) {
         return countText(perStep(seen, [](const plan::RehearsedRank& rank) { return rank.synchronisations; }));
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

std::string outcomeText(const plan::Point& point, const rehearsal::Point& seen) {
  std::string text(toString(seen.outcome));
  if (point.expected_infeasible.empty()) return text;
  if (seen.outcome == rehearsal::Outcome::DoesNotFit) return text + ", as expected";
  if (seen.rehearsed) return text + ", though expected not to fit";
  return text;
}

uint64_t rehearsedPeak(const plan::Rehearsed& rehearsed) {
  uint64_t peak = 0;
  for (const plan::RehearsedRank& rank : rehearsed.ranks) peak = std::max(peak, rank.device_memory_allocated);
  return peak;
}

std::optional<double> estimatedPeak(const plan::Point& point) {
  const auto found = point.estimates.find(kPeakMetric);
  return found == point.estimates.end() ? std::nullopt : std::optional(found->second);
}

std::string cardsText(const rehearsal::Study& study) {
  std::vector<std::string> texts;
  for (const rehearsal::Point& seen : study.points) {
    if (seen.outcome == rehearsal::Outcome::NotRehearsed) continue;
    std::string text = counted(seen.cards.count, "card") + " of " + bytesText(static_cast<double>(seen.cards.memory));
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  return joined(texts, "; ");
}

rehearsal::Study rehearsalOf(const plan::Plan& plan, const rehearsal::Study& study) {
  rehearsal::Study known{study.study, {}};
  for (const plan::Point& point : plan.points)
    if (const rehearsal::Point* seen = study.find(point.id)) known.points.push_back(*seen);
  return known;
}

llvm::json::Array rehearsalJson(const plan::Plan& plan, const rehearsal::Study& study) {
  llvm::json::Array points;
  const llvm::json::Value all = rehearsal::toJson(rehearsalOf(plan, study));
  for (const llvm::json::Value& value : *all.getAsObject()->getArray("points")) {
    llvm::json::Object point = *value.getAsObject();
    point.erase("seconds");
    if (llvm::json::Object* rehearsed = point.getObject("rehearsed"))
      for (llvm::json::Value& rank : *rehearsed->getArray("ranks"))
        for (const char* of_this_machine : {"host_memory", "host_seconds"}) rank.getAsObject()->erase(of_this_machine);
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace expc::report
