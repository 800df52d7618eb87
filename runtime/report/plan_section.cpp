// Sections about what is planned: factors, trials of each kind, and points that are left out with their reasons. The
// terminal's plan and the page's design section both use them.

#include <algorithm>
#include <set>

#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/judge/criteria.h"
#include "runtime/judge/index.h"
#include "runtime/plan/command.h"
#include "runtime/report/paint.h"
#include "runtime/report/sections.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// Factors with more levels are shortened.
constexpr size_t kListedLevels = 16;

/// Joins levels; many are shortened: "0, 1, 2, …, 999 (1000 levels)".
std::string shortened(const std::vector<std::string>& labels) {
  if (labels.size() <= kListedLevels) return joined(labels);
  return fmt::format("{}, {}, {}, …, {} ({} levels)", labels[0], labels[1], labels[2], labels.back(), labels.size());
}

/// Returns the settings of a kind of trial: "steps 20, warmup 5, timeout 4 h".
std::string settingsText(const KindDesign& design) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : design.settings) texts.push_back(StringRef(name).str() + " " + canonicalJson(value));
  // Settings come in the order of a hash table; sorting makes the text the same everywhere.
  std::ranges::sort(texts);
  if (design.timeout_seconds) texts.push_back("timeout " + durationText(*design.timeout_seconds));
  return joined(texts);
}

/// Names a removed point by its labels: "precision=fp16 gpus=1".
std::string exampleText(const Plan& plan, const std::vector<std::string>& labels) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < labels.size(); ++i)
    texts.push_back(i < plan.factors.size() ? plan.factors[i].name + "=" + labels[i] : labels[i]);
  return joined(texts, " ");
}

/// Returns the names of the metrics that trials of `kind` measure.
std::vector<std::string> metricsOf(const Plan& plan, TrialKind kind) {
  std::vector<std::string> names;
  for (const Metric& metric : plan.metrics)
    if (metric.kind == kind) names.push_back(metric.name);
  return names;
}

/// Returns the number of repetitions: "10", "10..20" if they adapt, with the interim analyses.
std::string repetitionsText(const KindDesign& design) {
  std::string looks;
  for (const unsigned look : design.looks) looks += fmt::format("{}{}", looks.empty() ? ", looks at " : ", ", look);
  if (design.most() == design.repeat) return std::to_string(design.repeat) + looks;
  return fmt::format("{}..{}", design.repeat, design.most());
}

/// Returns "10" or "10..20".
std::string rangeText(uint64_t least, uint64_t most) {
  return least == most ? std::to_string(least) : fmt::format("{}..{}", least, most);
}

/// Adds examples of the points that a rule removed.
void addExamples(const Plan& plan, const plan::RemovedGroup& group, std::vector<Block>& blocks) {
  auto examples = textsOf(group.examples, [&](const auto& labels) { return exampleText(plan, labels); });
  if (group.count > group.examples.size()) examples.emplace_back("…");
  if (!group.examples.empty()) say(blocks, {.text = joined(examples, "; "), .depth = 1});
}

}  // namespace

Table factorTable(const Plan& plan) {
  using Kind = Column::Kind;
  Table table{.label = "Factors and their levels", .most = SIZE_MAX};
  table.columns = {
      {"factor", Kind::Label}, {"levels", Kind::Words}, {"baseline", Kind::Words}, {"selected from", Kind::Prose}};
  // Without a selection every factor has all of its levels.
  if (plan.presets.empty() && plan.overrides.empty()) table.columns.back().shown = Shown::OnPage;
  for (const plan::Factor& factor : plan.factors) {
    const auto labels = textsOf(factor.levels, &plan::Level::label);
    table.rows.push_back({{{factor.name},
                           {shortened(labels)},
                           {factor.baseline ? factor.levels[*factor.baseline].label : "–"},
                           {factor.declared.empty() || labels == factor.declared ? "" : shortened(factor.declared)}}});
  }
  return table;
}

/// How often services start: "services start 20 times, …"; "" if the plan has none.
static std::string startsText(const Plan& plan, uint64_t least, uint64_t most) {
  std::set<std::string> instances;
  for (const Point& point : plan.points)
    if (const auto& command = plan.workloads[point.workload].command; command && point.startable())
      for (const plan::Service& service : command->services) instances.insert(plan::instanceOf(service, point));
  if (instances.empty()) return "";
  if (plan.design.restart == plan::Restart::Trial)
    return fmt::format("services start for each trial, {} times", rangeText(least, most));
  if (plan.design.restart == plan::Restart::Session)
    return fmt::format("services start once in a session ({}), so results do not cover their restarts",
                       counted(instances.size(), "instance"));
  uint64_t starts = 0, most_starts = 0;
  for (const KindDesign& kind : plan.design.kinds)
    starts += kind.repeat * instances.size(), most_starts += kind.most() * instances.size();
  return fmt::format("services start {} times, newly in each block, where the points of an instance run together",
                     rangeText(starts, most_starts));
}

Part trialsPart(const Plan& plan, uint64_t points) {
  using Kind = Column::Kind;
  Table table{.label = "Kinds of trials"};
  table.columns = {{"kind", Kind::Label},    {"blocks"}, {"points"}, {"trials"}, {"settings", Kind::Words},
                   {"measures", Kind::Prose}};
  // A process is one trial, however many points it measures.
  const uint64_t units = plan.processes().empty() ? points : std::ranges::count_if(plan.started(), &Point::startable);
  // Adaptive repetition gives a range of trials; controls run once more in each block.
  uint64_t least = 0, most = 0;
  for (const KindDesign& kind : plan.design.kinds) {
    // Controls are part of each block, so they multiply with repetitions as points do.
    const uint64_t controls = judge::hasControls(plan, kind.kind) ? plan.controls.size() : 0;
    const uint64_t each = units + controls;
    least += kind.repeat * each;
    most += kind.most() * each;
    table.rows.push_back({{{std::string(toString(kind.kind))},
                           {repetitionsText(kind)},
                           {std::to_string(points) + (controls ? " + " + counted(controls, "control") : "")},
                           {rangeText(kind.repeat * each, kind.most() * each)},
                           {settingsText(kind)},
                           {joined(metricsOf(plan, kind.kind))}}});
  }
  table.all = table.rows.size();
  // The head of a large plan has no points, so it does not tell how many of them share a process.
  const bool at_most = plan.points.empty() && std::ranges::any_of(plan.factors, &plan::Factor::inside);
  Part part{
      .title = "Trials", .rest = (at_most ? "at most " : "") + rangeText(least, most), .blocks = {std::move(table)}};
  const auto say = [&](std::string text) { part.blocks.emplace_back(Paragraph{std::move(text)}); };
  for (const KindDesign& kind : plan.design.kinds)
    for (const plan::Until& until : kind.until)
      say(fmt::format("at least {} and at most {} {} blocks: they stop when {} everywhere", kind.repeat, kind.most(),
                      toString(kind.kind), untilText(plan, until)));
  for (const plan::Control& control : plan.controls)
    say(fmt::format("control {}: {} runs a second time in each block{}", control.name, placeText(plan, control.point),
                    control.name == plan::kAlone ? ", alone, to show whether parallel blocks disturb each other"
                                                 : ", to show how much identical runs differ"));
  if (plan.design.share > 1)
    say(fmt::format("up to {} blocks in parallel, each on its own devices", plan.design.share));
  std::vector<std::string> inside;
  for (const plan::Factor& factor : plan.factors)
    if (factor.inside) inside.push_back(factor.name);
  if (units < points)
    say(fmt::format("{} {} the {}: each goes through {} by itself", counted(units, "process"),
                    units == 1 ? "measures" : "measure", counted(points, "point"), listed(std::move(inside))));
  say(fmt::format("each block runs every {} once, in random order (seed {})", units < points ? "process" : "point",
                  plan.design.seed));
  if (const std::string starts = startsText(plan, least, most); !starts.empty()) say(starts);
  // Built-in workloads draw from the block's seed; commands get it as a variable and may ignore it.
  part.blocks.emplace_back(Paragraph{.text = plan.hasBuiltIn()
                                                 ? "weights, data order and dropout start from one seed within a block"
                                                 : "commands are given one seed within a block",
                                     .shown = Shown::OnPage});
  return part;
}

std::string pointsText(const Plan& plan, uint64_t points) {
  uint64_t removed = 0;
  for (const plan::RemovedGroup& group : plan.removed) removed += group.count;
  return removed ? fmt::format("{} of {} combinations; rules remove {}", points, plan.product, removed)
                 : fmt::format("{} (all combinations)", points);
}

std::vector<Block> leftOutBlocks(const Plan& plan) {
  std::vector<Block> blocks;
  for (const plan::RemovedGroup& group : plan.removed) {
    say(blocks, {fmt::format("{} removed by {} ({}){}", counted(group.count, "point"), group.rule, group.location,
                             framed(": ", group.because)),
                 Tone::Plain});
    addExamples(plan, group, blocks);
  }
  // Three kinds of points are told apart: those that cannot run here, those expected to run out of memory, and those
  // started in spite of that since a criterion is about it.
  const std::set<std::string> claimed = judge::claimedInfeasible(plan);
  const char* const kinds[] = {"cannot run here", "estimated not to fit in memory, skipped (--try-infeasible runs it)",
                               "estimated not to fit in memory, run because a criterion claims it"};
  Reasons reasons[std::size(kinds)];
  for (const Point& point : plan.points)
    if (!point.unavailable.empty())
      reasons[0][point.unavailable].push_back(plan.label(point));
    else if (!point.expected_infeasible.empty())
      reasons[claimed.contains(point.id) ? 2 : 1][point.expected_infeasible].push_back(plan.label(point));
  for (size_t i = 0; i < std::size(kinds); ++i)
    for (std::string& text : reasonLines(reasons[i], kinds[i], kinds[i])) say(blocks, {std::move(text), Tone::Plain});
  return blocks;
}

}  // namespace expc::report
