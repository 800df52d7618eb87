// Puts descriptions into words: how much of a metric's variation each factor explains, which points are best, what
// drifted over the run and which values lie apart. Lists are cut to what a reader takes in; the JSON has all of them.

#include "runtime/report/description_text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/base/format.h"
#include "runtime/base/numbers.h"
#include "runtime/plan/labels.h"
#include "runtime/report/paint.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

constexpr size_t kListedRanks = 5, kListedOutliers = 8, kListedOfFront = 6, kListedInteractions = 4;
/// Interactions that explain less than this share of the variation are not spelled out.
constexpr double kWorthSaying = 0.01;

/// Formats a share in per cent; what rounds to 0 has no sign.
std::string share(double value) {
  if (std::abs(value) < 0.0005) value = 0;  // what rounding leaves below zero has no sign
  return fmt::format("{:.{}f} %", value * 100, value < 0.1 ? 1 : 0);
}

/// Formats a value of a metric with its unit; `beside` is a value that must be told from it.
std::string valueText(const Plan& plan, const std::string& name, double value, double beside = 0) {
  const Metric* metric = plan.findMetric(name);
  return formatAgainst(value, {}, metric ? metric->unit : "", metric ? metric->dimension : "", beside);
}

/// Names a point by its levels.
std::string pointText(const Plan& plan, const std::string& id) { return placeText(plan, Place(id)); }

/// Returns an empty part that the page folds.
Part described(const char* title, const char* rest) { return {.title = title, .rest = rest, .folded = true}; }

/// Names an effect by its factors: "gpus x precision".
std::string nameOf(const describe::FactorEffect& effect) { return joined(effect.factors, " x "); }

/// Describes the full grid of points that effects were computed on; points that would leave it incomplete are left out.
std::string gridText(const describe::Effects& effects) {
  const auto texts = textsOf(effects.grid, [](const auto& one) { return one.first + " " + joined(one.second); });
  std::string text = joined(texts, "; ") + "; " + counted(effects.blocks, "block");
  if (effects.left_out)
    text += fmt::format("; {} left out, which would leave the grid incomplete", counted(effects.left_out, "point"));
  return text;
}

/// Describes the effect of one level or combination of levels.
std::string levelText(const describe::FactorEffect& effect, const describe::LevelEffect& level) {
  std::string place;
  for (size_t i = 0; i < level.labels.size(); ++i) plan::addLabel(place, effect.factors[i], level.labels[i]);
  return place + " " +
         (level.interval ? formatEstimate(level.ratio, *level.interval, "x") : formatQuantity(level.ratio, "x"));
}

/// Describes the effects of a factor's levels; for an interaction only the strongest combinations.
std::string levelsText(const describe::FactorEffect& effect) {
  std::vector<describe::LevelEffect> levels = effect.levels;
  // A factor has few levels, and all are wanted. An interaction has their product, so only its strongest combinations
  // are named.
  const bool alone = effect.factors.size() == 1;
  if (!alone) {
    std::ranges::stable_sort(
        levels, [](const auto& a, const auto& b) { return std::abs(std::log(a.ratio)) > std::abs(std::log(b.ratio)); });
    levels.resize(std::min(levels.size(), kListedInteractions));
  }
  auto texts = textsOf(levels, [&](const describe::LevelEffect& level) { return levelText(effect, level); });
  if (levels.size() < effect.levels.size()) texts.push_back(fmt::format("… of {}", effect.levels.size()));
  return fmt::format("{} ({}): {} {}", nameOf(effect), share(effect.share), joined(texts, "; "),
                     alone ? "of the geometric mean" : "beyond what each does alone");
}

/// Describes main effects and interactions, as shares of the variation of logarithms.
Part effectsText(const Plan& plan, const std::vector<describe::Effects>& all) {
  Part part = described("Effects", "log scale, 95 % intervals over blocks; descriptive");
  for (const describe::Effects& effects : all) {
    std::string text = fmt::format("{}, geometric mean {} ({}), varies by ", effects.metric,
                                   valueText(plan, effects.metric, effects.mean), gridText(effects));
    for (const describe::FactorEffect& effect : effects.effects)
      text += fmt::format("{} {}, ", nameOf(effect), share(effect.share));
    if (effects.higher > 0) text += fmt::format("three factors and more {}, ", share(effects.higher));
    say(part.blocks, {text + (effects.blocks > 1 ? fmt::format("blocks {}, error {}", share(effects.between_blocks),
                                                               share(effects.error))
                                                 : "and nothing says how much of that is noise")});
    for (const describe::FactorEffect& effect : effects.effects)
      if (effect.share >= kWorthSaying) say(part.blocks, {levelsText(effect)});
  }
  return part;
}

/// Describes rankings by medians; without enough blocks points have an order and no ranks.
Part rankingText(const Plan& plan, const std::vector<describe::Ranking>& rankings) {
  Part part = described("Rankings", "by median; ranks are shared where the difference is not significant; descriptive");
  for (const describe::Ranking& ranking : rankings) {
    auto points = textsOf(ranking.points, [&](const describe::Ranked& one) {
      const std::string place = one.rank ? fmt::format("{}. ", *one.rank) : "";
      return fmt::format("{}{} ({})", place, pointText(plan, one.point), valueText(plan, ranking.metric, one.median));
    });
    // All points of a ranking have ranks, or none has.
    const bool ranked = ranking.points.empty() || ranking.points.front().rank;
    std::string why;
    if (!ranked)
      why = fmt::format("no ranks, {} points take {} blocks: ", points.size(), describe::rankBlocks(points.size()));
    say(part.blocks, {ranking.metric + ": " + why + fewOf(std::move(points), kListedRanks, "; ")});
  }
  return part;
}

/// Describes the points that no other beats in both of two metrics.
Part frontText(const Plan& plan, const std::vector<describe::Front>& fronts) {
  Part part = described("Pareto front", "points that no other point beats in both metrics, by medians; descriptive");
  for (const describe::Front& front : fronts) {
    auto points = textsOf(front.points, [&](const describe::FrontPoint& one) {
      return fmt::format("{} ({}, {})", pointText(plan, one.point), valueText(plan, front.first, one.first),
                         valueText(plan, front.second, one.second));
    });
    say(part.blocks, {fmt::format("{} and {}: {} of {}: {}", front.first, front.second, front.points.size(),
                                  front.points.size() + front.beaten, fewOf(std::move(points), kListedOfFront, "; "))});
  }
  return part;
}

/// Describes warm-ups and trends over the run.
Part driftText(const std::vector<describe::Drift>& drifts) {
  Part part = described("Drift over the run", "common to all points of a block; cancels in pairs");
  for (const describe::Drift& drift : drifts)
    for (std::string& text : driftTexts(drift)) say(part.blocks, {std::move(text)});
  return part;
}

/// Lists values far outside the quartiles of their point. They count like all others.
Part outlierText(const Plan& plan, const std::vector<describe::Outlier>& outliers, const Results& results) {
  Part part = described("Outliers", "far outside the quartiles of their point; included in all results");
  for (const describe::Outlier& one : outliers) {
    const auto trial = std::ranges::find(results.trials, one.trial, &Trial::id);
    // The value and its median get the same unit, that of the larger one.
    const double larger = std::max(std::abs(one.value), std::abs(one.median));
    std::string text =
        fmt::format("trial {}, {} at {}: {}, its median is {}", one.trial, one.metric, pointText(plan, one.point),
                    valueText(plan, one.metric, one.value, larger), valueText(plan, one.metric, one.median, larger));
    if (trial != results.trials.end() && !trial->notes.empty())
      text += "; it notes: " + joined(textsOf(trial->notes, noteText), "; ");
    say(part.blocks, {std::move(text)});
  }
  shorten(part.blocks, kListedOutliers);
  return part;
}

}  // namespace

std::vector<std::string> driftTexts(const describe::Drift& drift) {
  std::vector<std::string> texts;
  if (drift.first)
    texts.push_back(
        fmt::format("{}: the first block is {} the median of the others, apart from all of them, as a warm-up is",
                    drift.metric, formatQuantity(*drift.first, "x")));
  if (drift.p <= describe::kTrend)
    texts.push_back(fmt::format("{}: the last of {} is {} the first by the trend (p = {:.1g})", drift.metric,
                                counted(drift.blocks, "block"), formatQuantity(drift.last, "x"), drift.p));
  return texts;
}

std::vector<Part> describedParts(const Plan& plan, const describe::Description& description, const Results& results) {
  std::vector<Part> parts;
  for (Part& part : std::array{effectsText(plan, description.effects), rankingText(plan, description.rankings),
                               frontText(plan, description.fronts), driftText(description.drifts),
                               outlierText(plan, description.outliers, results)})
    if (!part.blocks.empty()) parts.push_back(std::move(part));
  return parts;
}

std::optional<Part> describedTable(const Plan& plan, const describe::Description& description,
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
      return frontText(plan, only(description.fronts, [&](const describe::Front& one) { return one.isOf(table); }));
  }
  return std::nullopt;
}

}  // namespace expc::report
