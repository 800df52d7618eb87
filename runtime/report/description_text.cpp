#include "runtime/report/description_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/analysis/format.h"
#include "runtime/plan/json.h"
#include "runtime/report/layout.h"
#include "runtime/report/result_json.h"
#include "runtime/report/study_text.h"

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

constexpr size_t kListedRanks = 5, kListedOutliers = 8, kListedOfFront = 6, kListedInteractions = 4;
/// Interactions below this share of the variation are not spelled out.
constexpr double kWorthSaying = 0.01;

/// How many of a list are shown: one more than `most` where that is the whole.
size_t shownOf(size_t all, size_t most) { return all <= most + 1 ? all : most; }

std::string share(double value) {
  if (std::abs(value) < 0.0005) value = 0;  // what rounding leaves below zero has no sign
  return fmt::format("{:.{}f} %", value * 100, value < 0.1 ? 1 : 0);
}

std::string valueText(const plan::Plan& plan, const std::string& name, double value, double beside = 0) {
  const plan::Metric* metric = plan.findMetric(name);
  return analysis::formatAgainst(value, {}, metric ? metric->unit : "", metric ? metric->dimension : "", beside);
}

std::string pointText(const plan::Plan& plan, const std::string& id) { return placeText(plan, plan::Place(id)); }

std::string nameOf(const analysis::FactorEffect& effect) { return joined(effect.factors, " x "); }

std::string gridText(const analysis::Effects& effects) {
  std::vector<std::string> texts;
  for (const auto& [factor, labels] : effects.grid) texts.push_back(factor + " " + joined(labels));
  std::string text = joined(texts, "; ") + "; " + counted(effects.blocks, "block");
  if (effects.left_out)
    text += fmt::format("; {} left out, which would leave the grid incomplete", counted(effects.left_out, "point"));
  return text;
}

std::string levelText(const analysis::FactorEffect& effect, const analysis::LevelEffect& level) {
  std::vector<std::string> place;
  for (size_t i = 0; i < level.labels.size(); ++i) place.push_back(effect.factors[i] + "=" + level.labels[i]);
  return joined(place, " ") + " " +
         (level.interval ? analysis::formatEstimate(level.ratio, *level.interval, "x")
                         : analysis::formatQuantity(level.ratio, "x"));
}

/// What the levels of a factor do, or those of two where they do most.
std::string levelsText(const analysis::FactorEffect& effect) {
  std::vector<analysis::LevelEffect> levels = effect.levels;
  const bool alone = effect.factors.size() == 1;
  if (!alone) {
    std::stable_sort(levels.begin(), levels.end(), [](const auto& a, const auto& b) {
      return std::abs(std::log(a.ratio)) > std::abs(std::log(b.ratio));
    });
    levels.resize(std::min(levels.size(), kListedInteractions));
  }
  std::vector<std::string> texts;
  for (const analysis::LevelEffect& level : levels) texts.push_back(levelText(effect, level));
  if (levels.size() < effect.levels.size()) texts.push_back(fmt::format("… of {}", effect.levels.size()));
  return fmt::format("{} ({}): {} {}", nameOf(effect), share(effect.share), joined(texts, "; "),
                     alone ? "of the mean" : "beyond what each does alone");
}

Described effectsText(const plan::Plan& plan, const std::vector<analysis::Effects>& all) {
  Described part{"Effects", "on logarithms, with 95 % intervals over blocks; a description, not a verdict"};
  for (const analysis::Effects& effects : all) {
    std::string text = fmt::format("{}, mean {} ({}), varies by ", effects.metric,
                                   valueText(plan, effects.metric, effects.mean), gridText(effects));
    for (const analysis::FactorEffect& effect : effects.effects)
      text += fmt::format("{} {}, ", nameOf(effect), share(effect.share));
    if (effects.higher > 0) text += fmt::format("three factors and more {}, ", share(effects.higher));
    part.lines.push_back({text + (effects.blocks > 1 ? fmt::format("blocks {}, error {}", share(effects.between_blocks),
                                                                   share(effects.error))
                                                     : "and nothing says how much of that is noise")});
    for (const analysis::FactorEffect& effect : effects.effects)
      if (effect.share >= kWorthSaying) part.lines.push_back({levelsText(effect)});
  }
  return part;
}

Described rankingText(const plan::Plan& plan, const std::vector<analysis::Ranking>& rankings) {
  Described part{"Rankings", "by medians; points that blocks do not tell apart share a rank; a description"};
  for (const analysis::Ranking& ranking : rankings) {
    std::string text = ranking.metric + ":";
    const size_t shown = shownOf(ranking.points.size(), kListedRanks);
    for (size_t i = 0; i < shown; ++i) {
      const analysis::Ranked& one = ranking.points[i];
      text += fmt::format("{} {}. {} ({})", i ? ";" : "", one.rank, pointText(plan, one.point),
                          valueText(plan, ranking.metric, one.median));
    }
    if (ranking.points.size() > shown) text += fmt::format("; … of {}", counted(ranking.points.size(), "point"));
    part.lines.push_back({std::move(text)});
  }
  return part;
}

Described frontText(const plan::Plan& plan, const std::vector<analysis::Front>& fronts) {
  Described part{"Best in two metrics", "points that no other beats in both, by medians; a description"};
  for (const analysis::Front& front : fronts) {
    std::vector<std::string> points;
    const size_t shown = shownOf(front.points.size(), kListedOfFront);
    for (size_t i = 0; i < shown; ++i)
      points.push_back(fmt::format("{} ({}, {})", pointText(plan, front.points[i].point),
                                   valueText(plan, front.first, front.points[i].first),
                                   valueText(plan, front.second, front.points[i].second)));
    if (front.points.size() > shown) points.push_back("…");
    part.lines.push_back({fmt::format("{} and {}: {} of {}: {}", front.first, front.second, front.points.size(),
                                      front.points.size() + front.beaten, joined(points, "; "))});
  }
  return part;
}

Described driftText(const std::vector<analysis::Drift>& drifts) {
  Described part{"Over the run", "what blocks have in common: pairs do not see it, values of single points do"};
  for (const analysis::Drift& drift : drifts)
    for (std::string& text : driftTexts(drift)) part.lines.push_back({std::move(text)});
  return part;
}

Described outlierText(const plan::Plan& plan, const std::vector<analysis::Outlier>& outliers,
                      const store::Results& results) {
  Described part{
      "Values that lie apart",
      "of what claims, tables and plots name; far outside the quartiles of their point; they count as the others do"};
  const size_t shown = shownOf(outliers.size(), kListedOutliers);
  for (size_t i = 0; i < shown; ++i) {
    const analysis::Outlier& one = outliers[i];
    const auto trial = std::find_if(results.trials.begin(), results.trials.end(),
                                    [&](const store::Trial& other) { return other.id == one.trial; });
    const double larger = std::max(std::abs(one.value), std::abs(one.median));
    std::string text =
        fmt::format("trial {}, {} at {}: {}, its median is {}", one.trial, one.metric, pointText(plan, one.point),
                    valueText(plan, one.metric, one.value, larger), valueText(plan, one.metric, one.median, larger));
    if (trial != results.trials.end() && !trial->notes.empty()) text += "; it notes: " + joined(trial->notes, "; ");
    part.lines.push_back({std::move(text)});
  }
  if (outliers.size() > shown) part.lines.push_back({fmt::format("… and {} more", outliers.size() - shown)});
  return part;
}

Object effectsJson(const analysis::Effects& effects) {
  Array grid, all;
  for (const auto& [factor, labels] : effects.grid)
    grid.push_back(Object{{"factor", plan::jsonText(factor)}, {"levels", plan::jsonTexts(labels)}});
  for (const analysis::FactorEffect& effect : effects.effects) {
    Array levels;
    for (const analysis::LevelEffect& level : effect.levels)
      levels.push_back(Object{{"levels", plan::jsonTexts(level.labels)},
                              {"ratio", level.ratio},
                              {"interval", intervalJson(level.interval)}});
    all.push_back(
        Object{{"factors", plan::jsonTexts(effect.factors)}, {"share", effect.share}, {"levels", std::move(levels)}});
  }
  return Object{{"metric", plan::jsonText(effects.metric)},
                {"grid", std::move(grid)},
                {"points", static_cast<int64_t>(effects.points)},
                {"left_out", static_cast<int64_t>(effects.left_out)},
                {"blocks", effects.blocks},
                {"mean", effects.mean},
                {"effects", std::move(all)},
                {"higher", effects.higher},
                {"between_blocks", effects.between_blocks},
                {"error", effects.error}};
}

}  // namespace

std::vector<std::string> driftTexts(const analysis::Drift& drift) {
  std::vector<std::string> texts;
  if (drift.first)
    texts.push_back(
        fmt::format("{}: the first block is {} the median of the others, apart from all of them, as a warm-up is",
                    drift.metric, analysis::formatQuantity(*drift.first, "x")));
  if (drift.p <= analysis::kTrend)
    texts.push_back(fmt::format("{}: the last of {} is {} the first by the trend (p = {:.1g})", drift.metric,
                                counted(drift.blocks, "block"), analysis::formatQuantity(drift.last, "x"), drift.p));
  return texts;
}

std::vector<Described> describedTexts(const plan::Plan& plan, const analysis::Description& description,
                                      const store::Results& results) {
  std::vector<Described> parts;
  for (Described& part : std::array{effectsText(plan, description.effects), rankingText(plan, description.rankings),
                                    frontText(plan, description.fronts), driftText(description.drifts),
                                    outlierText(plan, description.outliers, results)})
    if (!part.lines.empty()) parts.push_back(std::move(part));
  return parts;
}

std::optional<Described> describedTable(const plan::Plan& plan, const analysis::Description& description,
                                        const plan::Table& table) {
  const auto only = [](const auto& all, auto is) {
    auto found = all;
    std::erase_if(found, [&](const auto& one) { return !is(one); });
    return found;
  };
  const auto named = [&](const auto& one) { return one.metric == table.subject; };
  switch (table.shows) {
    case plan::Table::Shows::Values:
      break;
    case plan::Table::Shows::Effects:
      return effectsText(plan, only(description.effects, named));
    case plan::Table::Shows::Ranking:
      return rankingText(plan, only(description.rankings, named));
    case plan::Table::Shows::Front:
      return frontText(plan, only(description.fronts, [&](const analysis::Front& one) { return one.isOf(table); }));
  }
  return std::nullopt;
}

Value descriptionJson(const analysis::Description& description) {
  Array effects, rankings, fronts, drifts, outliers;
  for (const analysis::Effects& one : description.effects) effects.push_back(effectsJson(one));
  for (const analysis::Ranking& ranking : description.rankings) {
    Array points;
    for (const analysis::Ranked& one : ranking.points)
      points.push_back(
          Object{{"point", plan::jsonText(one.point)}, {"rank", one.rank}, {"median", one.median}, {"n", one.n}});
    rankings.push_back(Object{{"metric", plan::jsonText(ranking.metric)}, {"points", std::move(points)}});
  }
  for (const analysis::Front& front : description.fronts) {
    Array points;
    for (const analysis::FrontPoint& one : front.points) points.push_back(plan::jsonText(one.point));
    fronts.push_back(Object{{"metrics", Array{plan::jsonText(front.first), plan::jsonText(front.second)}},
                            {"points", std::move(points)},
                            {"beaten", static_cast<int64_t>(front.beaten)}});
  }
  for (const analysis::Drift& drift : description.drifts)
    drifts.push_back(Object{{"metric", plan::jsonText(drift.metric)},
                            {"blocks", drift.blocks},
                            {"first_block", drift.first ? Value(*drift.first) : Value(nullptr)},
                            {"drift", drift.last},
                            {"p", drift.p}});
  for (const analysis::Outlier& one : description.outliers)
    outliers.push_back(Object{{"metric", plan::jsonText(one.metric)},
                              {"point", plan::jsonText(one.point)},
                              {"trial", one.trial},
                              {"block", one.block},
                              {"value", one.value},
                              {"median", one.median}});
  return Object{{"effects", std::move(effects)},
                {"rankings", std::move(rankings)},
                {"fronts", std::move(fronts)},
                {"over_the_run", std::move(drifts)},
                {"outliers", std::move(outliers)}};
}

}  // namespace expc::report
