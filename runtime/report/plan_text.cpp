// The text of `expc plan`: factors, points, rehearsals, trials with their time, comparisons and criteria with what they
// can be expected to show. Expectations use the best that is known: stored trials, else published times, else an
// assumed noise, and say which. The header of a plan's JSON lines is made here, too.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/json_record.h"
#include "runtime/base/numbers.h"
#include "runtime/describe/times.h"
#include "runtime/judge/criteria.h"
#include "runtime/judge/format.h"
#include "runtime/judge/needs.h"
#include "runtime/judge/readings.h"
#include "runtime/judge/resolution.h"
#include "runtime/plan/evaluate.h"
#include "runtime/report/document.h"
#include "runtime/report/paint.h"
#include "runtime/report/reasons.h"
#include "runtime/report/sections.h"
#include "runtime/report/texts.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// The most rehearsed points that are listed without --all.
constexpr size_t kListedPoints = 20;

/// Returns "4 cells", with those that memory is expected to exclude.
std::string cellsText(uint64_t cells, uint64_t unfit) {
  return counted(cells, "cell") + (unfit ? fmt::format("; {} more are estimated not to fit in memory", unfit) : "");
}

/// Returns what a criterion can be expected to show before a run: "expected resolution ±1.0 % (10 blocks, 95 %) if
/// trials vary by 1 %" for a ratio with a confidence, else what is needed or claimed; "" if nothing can be said.
std::string resolutionText(const Plan& plan, const Criterion& criterion, double noise) {
  using judge::Resolution;
  const std::optional<Resolution> known = judge::resolutionBefore(plan, criterion, noise);
  if (!known) return "";
  const auto& [by, n, needed, half_width] = *known;
  const std::string noun = nounOf(criterion), blocks = counted(n, "block");
  const std::string confidence = criterion.confidence ? formatConfidence(*criterion.confidence) : "";
  switch (by) {
    case Resolution::NoTrials:
      return fmt::format("no {} trials are planned", toString(criterion.cells[0].kind));
    case Resolution::Memory:
      return "passes if every point runs out of memory in 2 blocks, fails if one run succeeds";
    case Resolution::EveryTrial:
      return fmt::format("must hold in {} of each cell; {}",
                         n == 1 ? "the one " + noun : fmt::format("all {} {}s", n, noun),
                         withoutFailureText(n, noun, fmt::format(", if {}s are independent", noun)));
    case Resolution::ExactValues:
      return "exact metric: if no value differs, two decide";
    case Resolution::TooFew:
      return fmt::format("{} are too few for an interval at {}: {} are needed", blocks, confidence, needed);
    case Resolution::Interval:
      return fmt::format("{} are enough for an interval at {}", blocks, confidence);
    case Resolution::HalfWidth:
      return fmt::format("expected resolution ±{} ({}, {}) if trials vary by {} (assumed; see --pilot)",
                         twoDigits(half_width), blocks, confidence, twoDigits(noise));
  }
  return "";
}

/// The blocks of a plan's text.
struct PlanReport {
  const Plan& plan;
  const PlanExtras& extras;
  const PlanCounts counts = extras.counts ? *extras.counts : PlanCounts::of(plan);
  const std::optional<describe::PublishedTime> published = describe::publishedTime(plan);
  /// The index of the stored trials, which missingHere() builds when it is first asked.
  mutable std::optional<judge::Index> stored = std::nullopt;

  std::vector<Block> blocks() const {
    const std::string selection = selectionText(plan);
    std::vector<Block> all;
    say(all,
        {.of = fmt::format("Plan of {} ({}{}{})", plan.study, plan.source, (selection.empty() ? "" : ", ") + selection,
                           extras.system == "local" ? "" : ", for " + extras.system)});
    if (!plan.doc.empty()) say(all, {plan.doc});
    append(all, summary());
    if (!plan.factors.empty()) {
      // The heading of the table says that these are factors.
      say(all, {});
      all.emplace_back(factorTable(plan));
    }
    if (extras.all_points || extras.counts) all.emplace_back(points());
    if (extras.rehearsed)
      if (Part part = rehearsalPart(plan, *extras.rehearsed,
                                    {.most_points = extras.all_points ? SIZE_MAX : kListedPoints, .steps = false});
          !part.blocks.empty())
        all.emplace_back(std::move(part));
    if (extras.all_points || extras.counts) {
      all.emplace_back(trialsPart(plan, startable()));
    } else {
      say(all, {});
      append(all, trialsPart(plan, startable()).blocks);
    }
    if (extras.all_points && !plan.comparisons.empty()) all.emplace_back(comparisons());
    if (!plan.criteria.empty()) all.emplace_back(extras.all_points ? criteria() : claims());
    append(all, missing());
    if (!extras.all_points && !extras.counts)
      say(all, {.text = "--all lists points, comparisons, and what each claim can show",
                .word = "Details",
                .room = kRoom,
                .apart = true});
    return all;
  }

 private:
  /// Marks a resolution that rests on an assumed noise.
  static constexpr char kAssumed[] = " *";
  /// The columns of the words in front of the first and last lines.
  static constexpr unsigned kRoom = 10;

  uint64_t startable() const { return counts.available - std::min(counts.available, counts.expected_infeasible); }

  /// A forecast by stored trials says more about a study's time than published values of another machine.
  std::optional<double> storedSeconds() const {
    return extras.diagnosis ? extras.diagnosis->design.seconds : std::nullopt;
  }

  /// The size of the study: points, trials, time and memory.
  std::vector<Paragraph> summary() const {
    std::vector<Paragraph> lines;
    const auto line = [&](const char* word, std::string text) {
      if (!text.empty())
        lines.push_back({.text = std::move(text), .word = word, .room = kRoom, .apart = lines.empty()});
    };
    line("Points", pointsText(plan, counts.points) +
                       (startable() < counts.points ? fmt::format("; {} can run here", startable()) : ""));
    // Reasons stand below the number that they explain.
    if (!extras.all_points && !extras.counts)
      for (Block& block : leftOutBlocks(plan)) {
        Paragraph& reason = lines.emplace_back(std::move(std::get<Paragraph>(block)));
        reason.room = kRoom;
      }
    line("Trials", trialsPart(plan, startable()).rest + storedText());
    line("Time", timeText());
    line("Memory", memoryText());
    line("Program", workloadText(plan));
    return lines;
  }

  /// Returns ": 30 stored, 12 to run"; "" if no results are known.
  std::string storedText() const {
    if (!extras.counted || extras.counted->trials.empty()) return "";
    const judge::Index index(plan, *extras.counted, judge::Index::Keep::ForRun);
    judge::Remaining all;
    for (const KindDesign& kind : plan.design.kinds) {
      const judge::Remaining own = judge::remaining(index, kind.kind);
      all.trials += own.trials;
      all.again += own.again;
      all.stored += own.stored;
    }
    const std::string again = all.again ? fmt::format(" ({} again, for whole pairs)", counted(all.again, "trial")) : "";
    return fmt::format(": {} stored, {} to run{}", all.stored, all.trials, again);
  }

  /// Returns the forecast with its source, and the budget.
  std::string timeText() const {
    const std::optional<double> stored = storedSeconds();
    std::string text = "no forecast before a trial of each kind is stored";
    if (extras.counts) text = "";
    if (stored)
      text = fmt::format(
          "forecast {} (from stored trials{})", durationText(*stored),
          extras.counted && extras.counted->trials.empty() ? " that no longer count: a run measures them again" : "");
    else if (published)
      text = fmt::format("{} for {}: {} ({} of GPU time)", published->stated ? "expected by the design" : "published",
                         published->known < published->of ? "some trials" : "all trials",
                         durationText(published->seconds), durationText(published->device_seconds));
    if (!plan.design.budget_seconds) return text;
    return text + (text.empty() ? "" : "; ") + "budget " + durationText(*plan.design.budget_seconds);
  }

  /// Returns the largest estimate of each metric of memory, whether it fits or not.
  std::string memoryText() const {
    struct Largest {
      double bytes = 0;
      const Point* at = nullptr;
    };
    std::map<std::string, Largest> all;
    for (const Point& point : plan.points)
      for (const auto& [metric, bytes] : point.estimates)
        if (Largest& one = all[metric]; point.unavailable.empty() && bytes > one.bytes) one = {bytes, &point};
    std::erase_if(all, [](const auto& one) { return !one.second.at; });
    return joined(textsOf(all,
                          [&](const auto& one) {
                            return fmt::format("{} estimated at up to {}{}", one.first,
                                               formatQuantity(one.second.bytes, "B", "bytes"),
                                               framed(" (", plan.label(*one.second.at), ")"));
                          }),
                  "; ");
  }

  /// The points, or only their numbers if the plan's head alone is known.
  Part points() const {
    Part part{.title = "Points", .rest = pointsText(plan, counts.points), .blocks = leftOutBlocks(plan)};
    // The head of a large plan has counts instead of points.
    if (extras.counts) {
      if (counts.available < counts.points)
        say(part.blocks, {fmt::format("{} cannot run here", counted(counts.points - counts.available, "point"))});
      if (counts.expected_infeasible > 0)
        say(part.blocks, {fmt::format("{} estimated not to fit in memory; skipped (--try-infeasible runs them)",
                                      counted(counts.expected_infeasible, "point"))});
      say(part.blocks,
          {"Too many to list. `--where CONDITION` or `--page N` shows some; `--format jsonl` writes all."});
      return part;
    }
    using Kind = Column::Kind;
    Table table{
        .label = "Points", .columns = {{"point", Kind::Label}}, .all = plan.points.size(), .most = plan.points.size()};
    for (const plan::Factor& factor : plan.factors) table.columns.push_back({factor.name, Kind::Label});
    table.columns.push_back({"", Kind::Prose});
    for (const Point& point : plan.points) {
      Row row{{{point.id}}};
      for (size_t i = 0; i < plan.factors.size(); ++i) row.add(plan.levelLabel(point, i));
      row.add(!point.unavailable.empty()           ? "cannot run here"
              : !point.expected_infeasible.empty() ? "estimated not to fit"
                                                   : "");
      table.rows.push_back(std::move(row));
    }
    part.blocks.emplace_back(std::move(table));
    return part;
  }

  /// Whatever keeps a run from starting, or stored trials from counting: a warning, not an error of the plan.
  std::vector<Paragraph> missing() const {
    std::vector<Paragraph> lines;
    const auto warn = [&](const char* word, std::string text, bool whole = false) {
      lines.push_back({.text = std::move(text), .word = word, .style = "open", .whole = whole, .apart = lines.empty()});
    };
    const std::optional<double> stored = storedSeconds();
    const double seconds = stored ? *stored : published ? published->seconds : 0;
    if (plan.design.budget_seconds && seconds > *plan.design.budget_seconds)
      warn("The forecast exceeds the budget:",
           fmt::format("{} of {}. A run stops at the budget.", durationText(seconds),
                       durationText(*plan.design.budget_seconds)));
    if (extras.counted)
      for (const std::string& why : extras.counted->not_counted_reasons) warn("Stored but ignored:", why);
    if (!extras.refused.empty()) warn("Cannot run yet:", extras.refused, true);
    return lines;
  }

  /// The claims, a line each: what the design can show of them.
  Part claims() const {
    using Kind = Column::Kind;
    Part part{.title = "Claims"};
    Table table{.label = "Claims",
                .columns = {{"claim", Kind::Label}, {"cells"}, {"bound; what the design can show", Kind::Prose}}};
    std::vector<std::string> not_asked;
    for (size_t i = 0; i < plan.criteria.size(); ++i) {
      const Criterion& criterion = plan.criteria[i];
      if (criterion.not_asked) {
        not_asked.push_back(criterion.name);
        continue;
      }
      table.rows.push_back({{{criterion.name},
                             {std::to_string(counts.criterion_cells[i])},
                             {fmt::format("{}; {}", assertionText(criterion), shownText(criterion, i))}}});
    }
    table.all = table.rows.size();
    table.most = SIZE_MAX;
    const bool assumed =
        std::ranges::any_of(table.rows, [](const Row& row) { return row.cells.back().text.ends_with(kAssumed); });
    part.blocks.emplace_back(std::move(table));
    if (assumed) part.rest = fmt::format("* if trials vary by {} (assumed; see --pilot)", twoDigits(extras.noise));
    if (!not_asked.empty())
      say(part.blocks, {"not judged here (none of their configurations can run): " + joined(not_asked)});
    return part;
  }

  /// Returns what the design can show of a claim, in a few words.
  std::string shownText(const Criterion& criterion, size_t i) const {
    if (extras.counts) return "";
    if (const std::string metric = missingHere(criterion); !metric.empty())
      return metric + " is not measured on this device";
    const auto* diagnosed = diagnosisOf(i);
    if (lacksValue(diagnosed)) return chancesText(plan, criterion, *diagnosed, extras.diagnosis->studies);
    if (std::string measured = measuredResolution(criterion, diagnosed); !measured.empty()) return measured;
    const auto known = judge::resolutionBefore(plan, criterion, extras.noise);
    if (known && known->by == judge::Resolution::HalfWidth)
      return fmt::format("±{}{}", twoDigits(known->half_width), kAssumed);
    if (known && known->by == judge::Resolution::Interval)
      return fmt::format("a {} interval", formatConfidence(*criterion.confidence));
    if (known && known->by == judge::Resolution::EveryTrial)
      return known->repetitions == 1 ? fmt::format("in the one {}", nounOf(criterion))
                                     : fmt::format("in all {} {}s", known->repetitions, nounOf(criterion));
    return resolutionText(plan, criterion, extras.noise);
  }

  /// The comparisons with their numbers of cells.
  Part comparisons() const {
    Part part{.title = "Comparisons"};
    for (size_t i = 0; i < plan.comparisons.size(); ++i) {
      const Comparison& comparison = plan.comparisons[i];
      say(part.blocks, {fmt::format("{} = {}: {}", comparison.name, comparison.text,
                                    cellsText(counts.comparison_cells[i], counts.comparison_unfit[i]))});
      if (std::string lacking = withoutPartnerText(comparison); !lacking.empty())
        say(part.blocks, {.text = std::move(lacking), .depth = 1});
    }
    return part;
  }

  /// The criteria with their cells, domain, expected resolution and chances.
  Part criteria() const {
    Part part{.title = "Criteria"};
    const auto below = [&](std::string text) {
      if (!text.empty()) say(part.blocks, {.text = std::move(text), .depth = 1});
    };
    for (size_t i = 0; i < plan.criteria.size(); ++i) {
      const Criterion& criterion = plan.criteria[i];
      say(part.blocks, {.text = criterion.text, .of = criterion.name});
      below(criterion.doc);
      if (criterion.not_asked) {
        below("not judged here: none of its configurations can run" + framed(" (", criterion.domain, ")"));
        continue;
      }
      const plan::Claim& claim = criterion.claim;
      const std::string least = claim.kind == plan::Claim::Kind::AtLeast
                                    ? fmt::format("; at least {} of {}", claim.least, claim.children.size())
                                    : "";
      below(cellsText(counts.criterion_cells[i], counts.criterion_unfit[i]) + least + framed("; ", criterion.domain));
      if (extras.counts) continue;
      if (const std::string metric = missingHere(criterion); !metric.empty()) {
        below(metric + " is not measured on this device, so this cannot be judged here");
        continue;
      }
      const auto* diagnosed = diagnosisOf(i);
      if (!lacksValue(diagnosed) && (!diagnosed || diagnosed->reach == 0))
        below(resolutionText(plan, criterion, extras.noise));
      if (const std::string measured = measuredResolution(criterion, diagnosed); !measured.empty())
        below("expected resolution " + measured);
      if (const auto noise =
              diagnosed ? simulate::noiseOf(extras.diagnosis->model, criterion) : std::optional(extras.noise))
        below(controlNeedText(plan, criterion, *noise));
      if (diagnosed) below(chancesText(plan, criterion, *diagnosed, extras.diagnosis->studies));
    }
    return part;
  }

  /// The simulation of a criterion at the noise of stored trials; null without them.
  const simulate::CriterionDiagnosis* diagnosisOf(size_t criterion) const {
    return extras.diagnosis ? &extras.diagnosis->design.criteria[criterion] : nullptr;
  }

  /// Whether a criterion had no value in any simulated study: it gets no resolution, and the reason is told instead.
  static bool lacksValue(const simulate::CriterionDiagnosis* diagnosed) {
    return diagnosed && diagnosed->chances && !diagnosed->valued;
  }

  /// Returns "±1 % at the noise of stored trials"; "" if it is not known, or if the claim joins several assertions.
  std::string measuredResolution(const Criterion& criterion, const simulate::CriterionDiagnosis* diagnosed) const {
    if (!diagnosed || diagnosed->reach <= 0 || !criterion.confidence || !criterion.assertions.empty()) return "";
    return "±" + resolutionOf(criterion, diagnosed->reach) + " at the noise of stored trials" +
           (diagnosed->timeouts > 0 ? " where none times out" : "");
  }

  /// Returns a metric that the criterion reads and that stored trials of this machine could not measure; "" if there is
  /// none.
  std::string missingHere(const Criterion& criterion) const {
    if (!extras.counted || extras.counted->trials.empty()) return "";
    if (!stored) stored.emplace(plan, *extras.counted);
    const judge::Index& index = *stored;
    for (const plan::Cell& cell : criterion.cells)
      for (const MetricTerm& term : cell.term ? plan::metricTerms(*cell.term) : std::vector<MetricTerm>())
        if (std::string metric = judge::missingOnDevice(index, index.of(cell.kind, term.place), term.metric);
            !metric.empty())
          return metric;
    return "";
  }

  /// Formats the half-width of a criterion's intervals: in its unit for a difference, as a share for a ratio.
  std::string resolutionOf(const Criterion& criterion, double reach) const {
    if (criterion.cells.front().estimator == Estimator::PairedDifference)
      return formatQuantity(reach, criterion.unit, judge::dimensionOf(plan, criterion.cells.front()));
    return formatQuantity(reach, "", "share");
  }
};

}  // namespace

std::string planText(const Plan& plan, const PlanExtras& extras) {
  return documentText(PlanReport{plan, extras}.blocks(), extras.width, extras.colour);
}

PlanCounts PlanCounts::of(const Plan& plan) {
  PlanCounts counts;
  counts.points = plan.points.size();
  const std::set<std::string> claimed = judge::claimedInfeasible(plan);
  for (const Point& point : plan.points) {
    counts.available += point.unavailable.empty();
    counts.expected_infeasible += point.unavailable.empty() && !point.startable() && !claimed.contains(point.id);
  }
  std::set<std::string_view> excluded;
  for (const Point& point : plan.points)
    if (!point.expected_infeasible.empty()) excluded.insert(point.id);
  // A cell that claims that memory runs out is about these very points, so it excludes none.
  const auto count = [&](const std::vector<plan::Cell>& cells, std::vector<uint64_t>& startable,
                         std::vector<uint64_t>& unfit, const Criterion* of = nullptr) {
    unfit.push_back(uint64_t(std::ranges::count_if(cells, [&](const plan::Cell& cell) {
      return !(of && plan::isInfeasible(*of, cell)) &&
             std::ranges::any_of(cell.points, [&](const Place& place) { return excluded.count(place.point) > 0; });
    })));
    startable.push_back(cells.size() - unfit.back());
  };
  for (const Comparison& comparison : plan.comparisons)
    count(comparison.cells, counts.comparison_cells, counts.comparison_unfit);
  for (const Criterion& criterion : plan.criteria)
    count(criterion.cells, counts.criterion_cells, counts.criterion_unfit, &criterion);
  return counts;
}

std::string planLinesHeader(const Plan& head, const PlanCounts& counts) {
  // The header is the plan itself, with counts in place of the long parts that the lines hold.
  Plan bare = head;
  json::Array factors, criteria;
  for (plan::Factor& factor : bare.factors) {
    std::optional<std::string> baseline;
    if (factor.baseline) baseline = factor.levels[*factor.baseline].label;
    const size_t levels = factor.levels.size();
    factors.push_back(base::record(EXPC_NAMED(factor, name, declared), "levels", levels, "baseline", baseline));
    factor.levels.clear();
    factor.baseline.reset();
  }
  json::Object header = *plan::toJson(bare).getAsObject();
  header["factors"] = std::move(factors);
  header["schema"] = "expc.plan-lines/2";
  header["points"] = counts.points;
  header["available"] = counts.available;
  header["expected_infeasible"] = counts.expected_infeasible;
  header.erase("comparisons");
  for (size_t i = 0; i < head.criteria.size(); ++i) {
    const Criterion& criterion = head.criteria[i];
    const uint64_t cells = counts.criterion_cells[i] + counts.criterion_unfit[i];
    criteria.push_back(base::record(EXPC_NAMED(criterion, name, text, domain, not_asked), "cells", cells));
  }
  header["criteria"] = std::move(criteria);
  return canonicalJson(std::move(header));
}

}  // namespace expc::report
