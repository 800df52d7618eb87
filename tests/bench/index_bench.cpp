// What the engine asks at the end of a block, and what a report asks once, of 100 to 100,000 trials: few points with
// many blocks and many points with few. Prints a JSON line for each size; see README.md.

#include <sys/resource.h>

#include <chrono>
#include <cmath>

#include "runtime/base/format.h"
#include "runtime/describe/description.h"
#include "runtime/judge/needs.h"
#include "runtime/stats/distributions.h"

using namespace expc;

namespace {

/// `points` levels against the first, `blocks` times, and on until an interval is narrow that never gets so.
plan::Plan planOf(unsigned points, unsigned blocks) {
  plan::Plan plan;
  plan.workloads.emplace_back();
  plan.factors = {{"level", {}, 0, {}}};
  plan.metrics.push_back({.name = "wall", .dimension = "time", .unit = "s"});
  plan::Comparison comparison;
  comparison.name = "gain";
  comparison.factors = {"level"};
  const auto metric = [](const std::string& point) {
    return std::make_shared<const plan::Term>(plan::Term{plan::MetricTerm{"wall", point}});
  };
  for (unsigned i = 0; i < points; ++i) {
    const std::string id = fmt::format("{:016x}", i);
    plan.factors[0].levels.push_back({std::to_string(i), i});
    plan.points.emplace_back();
    plan.points.back().id = id;
    plan.points.back().levels = {i};
    if (i == 0) continue;
    plan::Cell cell;
    cell.levels = {i};
    cell.term = std::make_shared<const plan::Term>(
        plan::Term{plan::OperationTerm{plan::OperationTerm::Op::Ratio, {metric(plan.points.front().id), metric(id)}}});
    cell.estimator = plan::Estimator::PairedRatio;
    cell.points = {id, plan.points.front().id};
    comparison.cells.push_back(std::move(cell));
  }
  plan.comparisons.push_back(std::move(comparison));
  plan::KindDesign design;
  design.repeat = blocks / 2;
  design.repeat_most = 2 * blocks;
  design.until = {{"gain", 1e-9, true}};
  plan.design.kinds.push_back(std::move(design));
  return plan;
}

double milliseconds(auto work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

double megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) / 1024;
}

void bench(unsigned points, unsigned blocks) {
  const plan::Plan plan = planOf(points, blocks);
  stats::NormalStream normal(7);
  std::vector<store::Key> keys;
  for (const plan::Point& point : plan.points) {
    store::TrialKey key;
    key.place = point.id;
    keys.push_back(std::make_shared<const store::TrialKey>(std::move(key)));
  }
  store::Trial trial;
  trial.session = 1;
  trial.status = store::TrialStatus::Valid;
  const auto next = [&](unsigned point, unsigned block) -> const store::Trial& {
    ++trial.id;
    trial.key = keys[point];
    trial.block = block + 1;
    trial.seconds = 0.1 * std::exp(0.02 * normal.next());
    trial.metrics["wall"] = trial.seconds;
    return trial;
  };
  const double before = megabytes();
  judge::Index index(plan, judge::Index::Keep::ForRun);
  index.startRun({});
  const double add = milliseconds([&] {
    for (unsigned block = 0; block < blocks; ++block)
      for (unsigned point = 0; point < points; ++point) index.add(next(point, block));
  });
  const double grown = megabytes() - before;
  // What every block costs: its trials, and what is left, with the widths where it is time to look at them.
  const double block = milliseconds([&] {
    for (unsigned point = 0; point < points; ++point) index.add(next(point, blocks));
    judge::remaining(index, plan::TrialKind::Timed);
  });
  const double widths = milliseconds([&] { judge::untilStates(index, plan::TrialKind::Timed); });
  const double judge = milliseconds([&] { describe::conclude(index); });
  const double trials = double(points) * blocks;
  fmt::print(
      "{{\"points\": {}, \"trials\": {}, \"add_us_a_trial\": {:.2f}, \"block_end_ms\": {:.3f}, \"widths_ms\": {:.2f}, "
      "\"judge_ms\": {:.1f}, \"bytes_a_trial\": {:.0f}}}\n",
      points, trials, 1000 * add / trials, block, widths, judge, grown * 1024 * 1024 / trials);
}

}  // namespace

int main() {
  for (const unsigned points : {10u, 1000u})
    for (const unsigned trials : {100u, 1000u, 10000u, 100000u})
      if (trials >= 10 * points) bench(points, trials / points);
}
