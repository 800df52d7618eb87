// Describes where the time of a step goes when a level changes (analysis/attribution): for a pair of points, a table
// for each view of the profile (phases, device, calls, kernels, operators). It is a description, not a verdict, and is
// preceded by warnings if the timed trials themselves do not differ: there would be nothing to explain.

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/numbers.h"
#include "runtime/plan/labels.h"
#include "runtime/report/paint.h"
#include "runtime/report/sections.h"
#include "runtime/stats/design.h"

namespace expc::report {
namespace {

/// The most categories that a summary lists, of the step's phases and of other views.
constexpr size_t kPhases = 40, kCategories = 12;
/// The widest name of a category in a terminal; kernels have long names.
constexpr unsigned kCategoryWidth = 44;
/// The most pairs of levels that a terminal shows.
constexpr size_t kPairsInText = 4;
constexpr size_t kNamedCriteria = 3;

/// Title of a view, and what must be known to read its times.
struct ViewText {
  std::string_view name, title, note;
};
constexpr ViewText kViewTexts[] = {
    {"step", "phases of the step",
     "rows marked \"beside\" are time of other threads and devices; an all-reduce includes waiting for the slowest "
     "rank"},
    {"device", "the device", "times of NCCL's kernels include waiting for the slowest rank"},
    {"api", "calls of the CUDA runtime, host time",
     "calls of all threads; a call that waits for the device lasts as long as the device works"},
    {"kernel", "kernels, device time", "kernels that run at the same time each count in full"},
    {"operator", "operators, own time",
     "operators of all threads, also of those that run in parallel with the step; waiting is included"}};

/// Whether a criterion fails that compares timed trials, whose reason profiles could show.
bool comparisonFails(const Plan& plan, const Judgement& judgement) {
  return plan.hasBuiltIn() && std::ranges::any_of(plan.criteria, [&](const Criterion& criterion) {
           const auto* judged = base::named(judgement.criteria, criterion.name);
           return judged && judged->verdict == Verdict::Fail &&
                  std::ranges::any_of(criterion.cells, [](const plan::Cell& cell) {
                    return cell.kind == TrialKind::Timed && cell.points.size() == 2;
                  });
         });
}

/// Names a level: a word stands alone, but "2", "300px" and "true" say nothing without their factor.
std::string levelName(const std::string& factor, const std::string& label) {
  const bool word =
      !label.empty() && std::isalpha(static_cast<unsigned char>(label[0])) && label != "true" && label != "false";
  return word ? label : factor + "=" + label;
}

/// A factor with its levels at the two points of an attribution.
struct LevelPair {
  std::string factor, treated, baseline;
};
/// Returns the levels of both points for every factor that has several; empty if the plan lacks a point.
std::vector<LevelPair> levelPairs(const Plan& plan, const describe::Attribution& attribution) {
  std::vector<LevelPair> pairs;
  const Point *treated = plan.findPoint(attribution.treated), *baseline = plan.findPoint(attribution.baseline);
  for (size_t f = 0; treated && baseline && f < plan.factors.size(); ++f)
    if (plan.factors[f].levels.size() > 1)
      pairs.push_back({plan.factors[f].name, plan.levelLabel(*treated, f), plan.levelLabel(*baseline, f)});
  return pairs;
}

/// The heading of intervals.
std::string intervalHead() { return formatConfidence(judge::kConfidence) + " interval"; }

/// Formats a difference with its sign.
std::string differenceText(double seconds) {
  const std::string size = formatQuantity(std::abs(seconds), "s");
  return seconds > 0 ? "+" + size : seconds < 0 ? "-" + size : size;
}

/// Formats the share of a category in the whole difference: "62 %"; "" if it has none.
std::string shareText(const describe::CategoryShare& category) {
  if (!category.share) return "";
  // Rounding a small negative share gives -0, which would print a minus.
  const double percent = std::round(*category.share * 100);
  return fmt::format("{:.0f} %", percent == 0 ? 0 : percent);  // no minus in front of nothing
}

/// Returns the calls in a step, of this level and the baseline: "52× / 13×"; one number if they agree.
std::string callsText(const describe::CategoryShare& category) {
  const double treated = category.treated_count, baseline = category.baseline_count;
  if (treated == 0 && baseline == 0) return "";
  const auto plain = [](double count) { return fmt::format("{:.6g}×", std::round(count * 100) / 100); };
  return treated == baseline ? plain(treated) : plain(treated) + " / " + plain(baseline);
}

/// Draws a bar to the left for less time than the baseline, to the right for more.
std::string bar(double difference, double largest) {
  constexpr double kHalf = 50;  // pixels
  const double length = largest > 0 ? kHalf * std::min(1.0, std::abs(difference) / largest) : 0;
  return fmt::format(
      "<svg class=\"shift\" width=\"{0}\" height=\"14\" aria-hidden=\"true\"><rect class=\"{1}\" x=\"{2:.1f}\" y=\"2\" "
      "width=\"{3:.1f}\" height=\"10\" rx=\"1.5\"/><line x1=\"{4}\" x2=\"{4}\" y1=\"0\" y2=\"14\"/></svg>",
      2 * kHalf, difference < 0 ? "less" : "more", difference < 0 ? kHalf - length : kHalf, length, kHalf);
}

/// Names a pair: "precision=fp32 against fp64, gpus=1", levels that differ first.
std::string pairText(const Plan& plan, const describe::Attribution& attribution) {
  std::vector<std::string> differing;
  std::string same;
  for (const auto& [factor, treated, baseline] : levelPairs(plan, attribution))
    if (treated == baseline)
      plan::addLabel(same, factor, treated);
    else
      differing.push_back(fmt::format("{}={} against {}", factor, treated, baseline));
  if (differing.empty()) return attribution.treated + " against " + attribution.baseline;
  std::string text = joined(differing);
  if (!same.empty()) text += ", " + same;
  return text;
}

/// Returns the sentence about a whole step: "12.3 ms per step instead of 20.1 ms (-7.8 ms, 95 % interval [-8.1 ms,
/// -7.4 ms]); means of 7 profile trials each, from the same blocks".
std::string stepText(const describe::Attribution& attribution) {
  const std::string interval = attribution.interval
                                   ? fmt::format(", {} {}", intervalHead(), formatInterval(*attribution.interval, "s"))
                                   : std::string();
  std::string text =
      fmt::format("{} per step instead of {} ({}{}); means of {} each, from the same blocks",
                  formatQuantity(attribution.treated_seconds, "s"), formatQuantity(attribution.baseline_seconds, "s"),
                  differenceText(attribution.difference()), interval, counted(attribution.blocks, "profile trial"));
  if (!attribution.interval) text += fmt::format("; an interval needs {}", stats::minimumPairs(judge::kConfidence));
  return text;
}

/// Returns warnings that a reader must see before taking the shares for a fact: the timed trials, or the profiles
/// themselves, show no difference, or not yet.
std::vector<std::string> cautions(const Plan& plan, const describe::Attribution& attribution) {
  std::vector<std::string> texts;
  // Three cases: the timed trials may not differ, or cannot tell yet, or the profiles themselves may not differ.
  if (const describe::TimedEffect* none = attribution.mayBeNone()) {
    const Comparison* found = base::named(plan.comparisons, none->comparison);
    const std::string unit = found ? found->unit : "";
    texts.push_back(
        fmt::format("the timed trials show no clear difference ({} {}), so this breakdown may only divide noise",
                    none->comparison, formatInterval(*none->interval, unit)));
  } else if (!attribution.timed.empty() &&
             std::ranges::none_of(attribution.timed,
                                  [](const describe::TimedEffect& one) { return one.interval.has_value(); })) {
    texts.push_back(fmt::format("it is unknown whether the timed trials differ: {} has no interval yet",
                                attribution.timed.front().comparison));
  }
  if (attribution.interval && attribution.interval->low <= 0 && attribution.interval->high >= 0)
    texts.push_back("the profile trials show no clear difference: its interval includes 0");
  return texts;
}

/// Returns the table of a view: times of a category at both levels, their difference with interval and bar, its share,
/// and calls.
Table viewTable(const describe::AttributionView& view, const std::pair<std::string, std::string>& levels,
                bool intervals, size_t most) {
  using Kind = Column::Kind;
  Table table{.label = std::string(titleOf(view)), .most = SIZE_MAX};
  table.columns = {{std::string(titleOf(view)), Kind::Label, Shown::Everywhere, kCategoryWidth},
                   {levels.first},
                   {levels.second},
                   {"difference"}};
  if (intervals) table.columns.push_back({intervalHead()});
  table.columns.push_back({"difference, drawn", Kind::Drawing, Shown::OnPage});
  table.columns.push_back({"share"});
  table.columns.push_back({"in a step", Kind::Number, Shown::OnPage});
  // Small categories are combined rather than dropped, so that the column still adds up.
  const auto categories = shortened(view, most);
  double largest = 0;
  for (const describe::CategoryShare& category : categories)
    // Bars are scaled by what belongs to the step; time beside it has none.
    if (!category.beside) largest = std::max(largest, std::abs(category.difference()));
  for (const describe::CategoryShare& category : categories) {
    Row row{{}, category.rest || category.beside ? "quiet" : ""};
    row.add(category.name + (category.beside ? ", beside these" : ""));
    row.add(formatQuantity(category.treated, "s"));
    row.add(formatQuantity(category.baseline, "s"));
    row.add(differenceText(category.difference()));
    if (intervals) row.add(category.interval ? formatInterval(*category.interval, "s") : "", Tone::Quiet);
    row.add(category.beside ? "" : bar(category.difference(), largest));
    row.add(shareText(category));
    row.add(callsText(category), Tone::Quiet);
    table.rows.push_back(std::move(row));
  }
  table.all = table.rows.size();
  return table;
}

}  // namespace

std::pair<std::string, std::string> levelNames(const Plan& plan, const describe::Attribution& attribution) {
  std::pair<std::string, std::string> names;
  size_t differing = 0;
  for (const auto& [factor, treated, baseline] : levelPairs(plan, attribution)) {
    if (treated == baseline) continue;
    // With several differing factors the last one's names are kept, but not used below.
    ++differing;
    names = {levelName(factor, treated), levelName(factor, baseline)};
  }
  // Long names would push the numbers out of the table, and levels of several factors have no single name.
  constexpr size_t kLongest = 18;
  if (differing != 1 || std::max(names.first.size(), names.second.size()) > kLongest) return {kThisLevel, "baseline"};
  return names;
}

std::string withoutAttribution(const Findings& findings) {
  const auto& [plan, judgement, results] = findings;
  const bool designed = plan::designOf(plan, TrialKind::Profile) != nullptr;
  // Without a comparison of two points nobody expects an attribution.
  const bool pairs = std::ranges::any_of(plan.comparisons, [](const auto& comparison) {
    return std::ranges::any_of(comparison.cells, [](const plan::Cell& cell) { return cell.points.size() == 2; });
  });
  if (!pairs) return "";
  // The design has profiles, so either their trials are missing, or no block holds both levels.
  if (designed) {
    const bool ran =
        std::ranges::any_of(results.trials, [](const Trial& trial) { return trial.key->kind == TrialKind::Profile; });
    return ran ? "unknown: no block has profile trials of both levels of a comparison" : "";
  }
  if (!comparisonFails(plan, judgement)) return "";
  return "unknown: the design has no profile trials. " + profileAdvice(plan);
}

std::string_view titleOf(const describe::AttributionView& view) {
  return std::ranges::find(kViewTexts, view.name, &ViewText::name)->title;
}

std::string noteOf(const describe::AttributionView& view) {
  const bool beside = std::ranges::any_of(view.categories, &describe::CategoryShare::beside);
  return view.name == "step" && !beside ? ""
                                        : std::string(std::ranges::find(kViewTexts, view.name, &ViewText::name)->note);
}

std::string profileAdvice(const Plan& plan) {
  return plan.hasBuiltIn()
             ? "To see which phases and operators make the difference, add `profile { repeat 1  steps 20  "
               "warmup 5 }` to the design, and `measure profiled_time`. Stored results stay valid"
             : "Commands have no profile trials; let them print the times of their parts as metrics";
}

Part attributionPart(const Plan& plan, const describe::Attribution& attribution, Detail detail) {
  Part part{pairText(plan, attribution)};
  std::vector<std::string> uses = attribution.comparisons;
  if (!attribution.criteria.empty()) uses.push_back("judged by " + fewOf(attribution.criteria, kNamedCriteria));
  part.rest = joined(uses) + (uses.empty() ? "" : ": ") + stepText(attribution);
  for (std::string& caution : cautions(plan, attribution))
    say(part.blocks, {std::move(caution), Tone::Plain, "caution:", "open"});
  // The phases at a glance; the longer lists behind a click.
  Part more{.title = "More: calls, kernels, operators", .folded = true, .titled_on_page = true};
  for (const describe::AttributionView& view : attribution.views) {
    // A step has few phases, and they explain most; of kernels and operators there may be hundreds.
    const size_t most = detail == Detail::Everything ? SIZE_MAX : view.name == "step" ? kPhases : kCategories;
    std::vector<Block>& blocks = &view == &attribution.views.front() ? part.blocks : more.blocks;
    blocks.emplace_back(viewTable(view, levelNames(plan, attribution), attribution.interval.has_value(), most));
    if (std::string note = noteOf(view); !note.empty()) say(blocks, {std::move(note)});
  }
  if (!more.blocks.empty()) part.blocks.emplace_back(std::move(more));
  return part;
}

Part attributionParts(const Plan& plan, const std::vector<describe::Attribution>& all, const std::string& without) {
  Part section{"Where the time went"};
  if (all.empty() && !without.empty()) say(section.blocks, {without});
  if (all.empty()) return section;
  section.rest = "from profile trials; descriptive, not a verdict";
  say(section.blocks, {.text = "Means per step from profile trials, which are slower than timed ones, "
                               "over blocks with both levels. Descriptive, not a verdict.",
                       .shown = Shown::OnPage});
  for (size_t i = 0; i < all.size() && i < kMostDrawn; ++i) {
    Part part = attributionPart(plan, all[i], Detail::Summary);
    // The page has all pairs, a terminal the first few and the number of the others.
    if (i >= kPairsInText) part.shown = Shown::OnPage;
    section.blocks.emplace_back(std::move(part));
  }
  for (const auto& [most, shown] : {std::pair(kPairsInText, Shown::InText), std::pair(kMostDrawn, Shown::OnPage)})
    if (all.size() > most)
      say(section.blocks, {.text = fmt::format("… and {} more{}", all.size() - most,
                                               shown == Shown::InText ? "; the page has all" : ""),
                           .shown = shown});
  return section;
}

}  // namespace expc::report
