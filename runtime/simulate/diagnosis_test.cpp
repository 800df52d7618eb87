#include "runtime/simulate/diagnosis.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "runtime/judge/judge.h"
#include "runtime/simulate/study.h"
#include "tests/support/judge/study.h"

namespace expc::simulate {
namespace {

using namespace judge::test;

plan::Plan gains(double bound, unsigned repeat) {
  plan::Plan plan = study(repeat, 0);
  plan.criteria.push_back(criterion({gainCells().front()}, atLeast(bound, "bound"), "x", 0.95));
  plan.criteria[0].name = "pays";
  return plan;
}

DiagnosisOptions quickly(unsigned studies, std::map<std::string, double> effects = {}) {
  return {studies, 1, std::move(effects), false};
}

Model stated(const plan::Plan& plan, double noise) { return modelOf(plan, {}, {{{"", noise}}, std::nullopt}); }

/// Four standard errors of a share.
double tolerance(double share, unsigned studies) { return 4 * std::sqrt(share * (1 - share) / studies); }

constexpr size_t kTreated = 2;  // fp32 on one card, as gains() asks of it
constexpr double kLimit = 3;

/// fp64 and fp32 on one card, with 2 % of noise; fp32 times out in the blocks for which `late` is true.
Records measured(stats::NormalStream& stream, unsigned blocks, double gain, auto late) {
  Records records;
  for (unsigned block = 1; block <= blocks; ++block) {
    records.timed(id("fp64", 1), block, std::exp(0.02 * stream.next())).seconds = 1;
    if (late(block))
      records.add(id("fp32", 1), TrialKind::Timed, block, TrialStatus::Timeout).limit = kLimit;
    else
      records.timed(id("fp32", 1), block, std::exp(0.02 * stream.next()) / gain).seconds = 1;
  }
  return records;
}

}  // namespace

TEST_CASE(
    "at its bound a criterion passes and fails as rarely as its confidence says, and intervals cover what is true") {
  constexpr unsigned kStudies = 1500;
  const plan::Plan plan = gains(1.2, 10);
  const Diagnosis found = diagnose(plan, stated(plan, 0.02), quickly(kStudies));
  const CriterionDiagnosis& pays = found.design.criteria[0];
  CHECK(pays.known.empty());
  const auto at_bound = std::ranges::find(pays.sweeps, 0, &Sweep::distance);
  REQUIRE(at_bound != pays.sweeps.end());
  CHECK(*at_bound->value == doctest::Approx(1.2));
  CHECK(at_bound->chances.pass <= 0.025 + tolerance(0.025, kStudies));
  CHECK(at_bound->chances.fail <= 0.025 + tolerance(0.025, kStudies));
  CHECK(at_bound->chances.pass + at_bound->chances.fail > 0.02);
  CHECK(*pays.coverage >= 0.95 - tolerance(0.05, kStudies));
  CHECK(*pays.coverage <= 0.97);
  // The noise of a ratio is sqrt(2) times 2 %; ten pairs resolve about 2 %, and decide in most studies a little beyond.
  CHECK(pays.reach == doctest::Approx(0.0235).epsilon(0.15));
  CHECK(*pays.passes_from > 1.2 * 1.02);
  CHECK(*pays.passes_from < 1.2 * 1.05);
  CHECK(*pays.fails_from < 1.2 / 1.02);
  CHECK(found.design.blocks.at(TrialKind::Timed) == 10);
  CHECK(found.design.trials.at(TrialKind::Timed) == 60);
  CHECK_FALSE(found.design.seconds);
}

TEST_CASE("what is stated, and what was measured, says how often the criterion passes") {
  const plan::Plan plan = gains(1.2, 10);
  const Diagnosis told = diagnose(plan, stated(plan, 0.02), quickly(300, {{"pays", 1.3}}));
  CHECK(told.design.criteria[0].known == "stated");
  // Chance makes some studies of ten pairs look correlated, whose intervals are wider.
  CHECK(told.design.criteria[0].chances->pass > 0.93);
  const Diagnosis low = diagnose(plan, stated(plan, 0.02), quickly(300, {{"pays", 1.0}}));
  CHECK(low.design.criteria[0].chances->fail > 0.93);

  Records records;
  records.pairs(7, 1.25, 0.03);
  for (store::Trial& trial : records.results.trials) trial.seconds = 2;
  const Diagnosis seen = diagnose(plan, modelOf(plan, records.results, {}), quickly(300));
  const CriterionDiagnosis& pays = seen.design.criteria[0];
  CHECK(pays.known == "measured");
  CHECK(pays.least == doctest::Approx(1.25).epsilon(0.03));
  CHECK(*seen.design.seconds == doctest::Approx(120));
}

TEST_CASE("noise is what is left once points and blocks are taken away") {
  const plan::Plan plan = study(40, 0);
  Records records;
  stats::NormalStream normal(3);
  for (int64_t block = 1; block <= 40; ++block) {
    const double drift = std::exp(0.1 * normal.next());
    int i = 0;
    for (const plan::Point& point : plan.points)
      records.timed(point.id, block, ++i * drift * std::exp(0.02 * normal.next()));
  }
  const Model model = modelOf(plan, records.results, {});
  const auto metric = std::ranges::find(model.metrics, "step_time", &MetricModel::name);
  REQUIRE(metric != model.metrics.end());
  CHECK(metric->origin == Origin::Measured);
  CHECK(metric->noise == doctest::Approx(0.02).epsilon(0.15));
  CHECK(metric->drift == doctest::Approx(0.1).epsilon(0.35));
  CHECK(metric->centres[4] / metric->centres[0] == doctest::Approx(5).epsilon(0.02));
  // Exact metrics do not vary. Residuals of one trial stay together, so a rate and its time stay consistent.
  const auto memory = std::ranges::find(model.metrics, "memory", &MetricModel::name);
  CHECK(memory->noise == 0);
  const auto& rows = model.residuals.at(TrialKind::Timed);
  CHECK(rows.size() == 240);
  for (const auto& row : rows) CHECK(row[0] == doctest::Approx(-row[1]).epsilon(1e-6));
  CHECK(modelOf(plan, {}, {}).metrics[0].origin == Origin::Assumed);
}

TEST_CASE("planned looks end a clear effect early, and an effect at the bound never sooner than chance says") {
  plan::Plan plan = gains(1.2, 20);
  plan.design.kinds[0].looks = {8, 14};
  const Diagnosis clear = diagnose(plan, stated(plan, 0.02), quickly(200, {{"pays", 1.5}}));
  CHECK(clear.design.blocks.at(TrialKind::Timed) < 8.2);
  const Diagnosis at_bound = diagnose(plan, stated(plan, 0.02), quickly(800, {{"pays", 1.2}}));
  const Chances chances = *at_bound.design.criteria[0].chances;
  CHECK(chances.pass <= 0.025 + tolerance(0.025, 800));
  CHECK(at_bound.design.blocks.at(TrialKind::Timed) > 19);
}

TEST_CASE("repetitions that adapt, lost trials and points that do not fit are part of the study") {
  plan::Plan plan = gains(1.2, 10);
  plan.comparisons.push_back({"gain", "", "precision", "x", {"precision", "gpus"}, gainCells(), 0, ""});
  plan.design.kinds[0].repeat_most = 30;
  plan.design.kinds[0].until = {{"gain", 0.02, true}};
  const Diagnosis adaptive = diagnose(plan, stated(plan, 0.02), quickly(200));
  CHECK(adaptive.design.blocks.at(TrialKind::Timed) > 11);
  CHECK(adaptive.design.blocks.at(TrialKind::Timed) < 30);
  CHECK(*adaptive.design.criteria[0].coverage >= 0.95 - tolerance(0.05, 200));

  Model lossy = stated(gains(1.2, 10), 0.02);
  lossy.lost = 0.1;
  CHECK(diagnose(gains(1.2, 10), lossy, quickly(100)).design.blocks.at(TrialKind::Timed) > 10.2);

  Model full = stated(gains(1.2, 10), 0.02);
  full.ends.at(TrialKind::Timed)[kTreated].infeasible = 1;
  CHECK(diagnose(gains(1.2, 10), full, quickly(50, {{"pays", 1.5}})).design.criteria[0].chances->fail == 1);
}

TEST_CASE("studies of a known truth whose trials time out end as it is foretold") {
  constexpr unsigned kStudies = 400;
  const plan::Plan plan = gains(1.2, 10);
  for (const auto& [gain, chance] : {std::pair(1.25, 0.1), std::pair(1.5, 0.2), std::pair(1.1, 0.3)}) {
    stats::NormalStream stream(7);
    Chances seen;
    for (unsigned i = 0; i < kStudies; ++i) {
      const Records records =
          measured(stream, 10, gain, [&, chance = chance](unsigned) { return stream.uniform() < chance; });
      const judge::Verdict verdict = judge::judge(plan, records.results).criteria[0].verdict;
      seen.pass += double(verdict == judge::Verdict::Pass) / kStudies;
      seen.fail += double(verdict == judge::Verdict::Fail) / kStudies;
    }
    Model model = stated(plan, 0.02);
    model.ends.at(TrialKind::Timed)[kTreated] = {0, chance, kLimit};
    const CriterionDiagnosis told = diagnose(plan, model, quickly(kStudies, {{"pays", gain}})).design.criteria[0];
    CAPTURE(gain);
    CHECK(std::abs(told.chances->pass - seen.pass) <= 1.5 * tolerance(seen.pass, kStudies));
    CHECK(std::abs(told.chances->fail - seen.fail) <= 1.5 * tolerance(seen.fail, kStudies));
    CHECK(told.timeouts == chance);
    CHECK_FALSE(told.coverage);
  }
}

TEST_CASE("stored timeouts come again as often, take as long as their limit, and move no true value") {
  const plan::Plan plan = gains(1.2, 10);
  stats::NormalStream stream(3);
  const Records records = measured(stream, 40, 1.25, [](unsigned block) { return block % 4 == 0; });
  const Model model = modelOf(plan, records.results, {});
  CHECK(model.ends.at(TrialKind::Timed)[kTreated].timeouts == 0.25);
  CHECK(model.ends.at(TrialKind::Timed)[kTreated].limit == kLimit);
  CHECK(model.ends.at(TrialKind::Timed)[0].timeouts == 0);
  CHECK(model.lost == 0);
  const Diagnosis found = diagnose(plan, model, quickly(300));
  const CriterionDiagnosis& pays = found.design.criteria[0];
  CHECK(pays.known == "measured");
  CHECK(pays.least == doctest::Approx(1.25).epsilon(0.01));
  CHECK(pays.chances->pass < 0.6);  // nearly always where none timed out
  // Half-widths are measured without timeouts, since intervals with timeouts have no finite end.
  CHECK(pays.reach == doctest::Approx(0.0235).epsilon(0.3));
  CHECK(found.design.trials.at(TrialKind::Timed) == 60);
  CHECK(*found.design.seconds == doctest::Approx(60 + 10 * 0.25 * (kLimit - 1)).epsilon(0.02));
}

TEST_CASE("stored trials that ran out of memory or were disturbed come again as often, by kind of trial") {
  const plan::Plan plan = gains(1.2, 10);
  stats::NormalStream stream(3);
  Records once = measured(stream, 10, 1.5, [](unsigned) { return false; });
  once.results.trials[3].status = TrialStatus::Infeasible;  // fp32 in the second block
  once.add(id("fp32", 1), TrialKind::Quality, 1, TrialStatus::Infeasible);
  const Model unstable = modelOf(study(10, 1), once.results, {});
  CHECK(unstable.ends.at(TrialKind::Timed)[kTreated].infeasible == doctest::Approx(0.1));
  CHECK(unstable.ends.at(TrialKind::Quality)[kTreated].infeasible == 1);
  // The point is unstable, which fails, in every study in which one of the ten blocks runs out of memory.
  const Chances chances = *diagnose(plan, modelOf(plan, once.results, {}), quickly(400)).design.criteria[0].chances;
  CHECK(chances.fail == doctest::Approx(1 - std::pow(0.9, 10)).epsilon(0.1));
  CHECK(chances.pass == doctest::Approx(std::pow(0.9, 10)).epsilon(0.2));

  Records always = measured(stream, 10, 1.5, [](unsigned) { return false; });
  for (store::Trial& trial : always.results.trials)
    if (trial.place().point == id("fp32", 1)) trial.status = TrialStatus::Infeasible;
  const CriterionDiagnosis never = diagnose(plan, modelOf(plan, always.results, {}), quickly(50)).design.criteria[0];
  CHECK_FALSE(never.valued);
  CHECK(never.known.empty());
  CHECK(never.chances->fail == 1);

  Records busy = measured(stream, 10, 1.5, [](unsigned) { return false; });
  for (size_t i = 0; i < 6; ++i) busy.results.trials[i].status = TrialStatus::Invalid;
  const Model disturbed = modelOf(plan, busy.results, {});
  CHECK(disturbed.disturbed == doctest::Approx(0.3));
  CHECK(disturbed.lost == 0);
  const Diagnosis found = diagnose(plan, disturbed, quickly(200));
  CHECK(found.design.trials.at(TrialKind::Timed) > 60 * 1.3);
  CHECK(found.design.blocks.at(TrialKind::Timed) < 13);
}

TEST_CASE("what keeps a criterion open whatever its values are is told: a control, a budget") {
  plan::Plan plan = gains(1.2, 10);
  CHECK(diagnose(plan, stated(plan, 0.02), quickly(50)).design.criteria[0].untrusted == 0);
  plan.controls = {{"twice", plan.points[2].id}};
  // A control of a sound setup is significant by chance only, whatever the noise.
  for (const double noise : {0.02, 0.5}) {
    const CriterionDiagnosis one = diagnose(plan, stated(plan, noise), quickly(200, {{"pays", 9}})).design.criteria[0];
    CHECK(one.untrusted < 0.1);
    CHECK(one.cut_off == 0);
    CHECK(one.chances->open >= one.untrusted);
  }
  plan.controls.clear();
  plan.design.budget_seconds = 5;
  Model slow = stated(plan, 0.02);
  slow.seconds[TrialKind::Timed] = 1;
  const CriterionDiagnosis cut = diagnose(plan, slow, quickly(50, {{"pays", 9}})).design.criteria[0];
  CHECK(cut.cut_off == doctest::Approx(1));
  CHECK(cut.chances->open == 1);
}

TEST_CASE("the same seed gives the same numbers, and claims that noise does not decide are left out with the reason") {
  plan::Plan plan = gains(1.2, 7);
  plan.criteria.push_back(plan.criteria[0]);
  plan.criteria[1].infeasible = true;
  const Diagnosis one = diagnose(plan, stated(plan, 0.02), quickly(100)),
                  two = diagnose(plan, stated(plan, 0.02), quickly(100));
  for (size_t i = 0; i < one.design.criteria[0].sweeps.size(); ++i)
    CHECK(one.design.criteria[0].sweeps[i].chances.pass == two.design.criteria[0].sweeps[i].chances.pass);
  REQUIRE(one.design.criteria[1].skipped);
  CHECK(one.design.criteria[1].skipped->code == plan::Reason::NoMatterOfNoise);
}

TEST_CASE("a claim on a derived metric that reads a series is not simulated") {
  plan::Plan plan = gains(1.2, 7);
  plan::Metric tail = plan.metrics[0];
  tail.name = "tail";
  tail.derived = plan::termOf(plan::ReduceTerm{{plan.metrics[0].name, ""}, plan::Reduction::Take::Median});
  plan.metrics.push_back(tail);
  plan::Cell& cell = plan.criteria[0].cells[0];
  CHECK(!whyNotSimulated(plan, plan.criteria[0]));
  cell.term = plan::termOf(plan::MetricTerm{"tail", plan.points[0].id});
  cell.points = {plan.points[0].id};
  const plan::Why why = whyNotSimulated(plan, plan.criteria[0]);
  REQUIRE(why);
  CHECK((why->code == plan::Reason::ReadsCourse));
}

TEST_CASE("claims about every trial, upper bounds and bands are moved to their own side") {
  plan::Plan plan = study(5, 0);
  plan.criteria.push_back(criterion(metricCells(plan, "step_time"), atMost(2, "2s"), "s", std::nullopt));
  plan.criteria.push_back(criterion({gainCells().front()}, {Relation::Within, 0.9, 1.1, "within"}, "x", 0.9));
  const Diagnosis found = diagnose(plan, stated(plan, 0.02), quickly(100));
  const CriterionDiagnosis& every = found.design.criteria[0];
  REQUIRE(every.passes_from);
  CHECK(*every.passes_from < 2);
  CHECK(*every.passes_from > 1.8);
  CHECK_FALSE(every.coverage);
  const CriterionDiagnosis& band = found.design.criteria[1];
  CHECK(*band.passes_from > 0.9);
  CHECK(*band.fails_from < 0.9);
  // A cell with one value is uncertain too, although it has no spread.
  plan::Plan once = study(1, 0);
  once.criteria = {criterion(metricCells(once, "step_time"), atMost(2, "2s"), "s", std::nullopt)};
  const CriterionDiagnosis single = diagnose(once, stated(once, 0.02), quickly(100)).design.criteria[0];
  REQUIRE(single.passes_from);
  CHECK(*single.passes_from < 2);
  CHECK(*single.passes_from > 1.8);
}

TEST_CASE("a study in several sessions ends as it is foretold") {
  constexpr unsigned kStudies = 400;
  const plan::Plan plan = gains(1.2, 12);
  for (const unsigned sessions : {1u, 3u}) {
    stats::NormalStream stream(11);
    Chances seen;
    for (unsigned i = 0; i < kStudies; ++i) {
      Records records = measured(stream, 12, 1.225, [](unsigned) { return false; });
      for (store::Trial& trial : records.results.trials) trial.session = 1 + (trial.block - 1) * sessions / 12;
      const judge::Verdict verdict = judge::judge(plan, records.results).criteria[0].verdict;
      seen.pass += double(verdict == judge::Verdict::Pass) / kStudies;
    }
    const Model model = modelOf(plan, {}, {{{"", 0.02}}, std::nullopt, sessions});
    const Chances told = *diagnose(plan, model, quickly(kStudies, {{"pays", 1.225}})).design.criteria[0].chances;
    CAPTURE(sessions);
    CHECK(std::abs(told.pass - seen.pass) <= 1.5 * tolerance(seen.pass, kStudies));
  }
}

TEST_CASE("how far sessions lie apart is measured where stored trials are of several") {
  const plan::Plan plan = study(60, 0);
  Records records;
  stats::NormalStream normal(5);
  std::map<std::pair<int64_t, std::string>, double> places;
  std::map<int64_t, double> all;
  for (int64_t block = 1; block <= 60; ++block) {
    const int64_t session = 1 + (block - 1) / 5;
    if (all.emplace(session, 0).second) all[session] = 0.1 * normal.next();
    for (const plan::Point& point : plan.points) {
      if (places.emplace(std::pair(session, point.id), 0).second) places[{session, point.id}] = 0.04 * normal.next();
      const double noise = 0.02 * normal.next();
      records.timed(point.id, block, std::exp(all[session] + places[{session, point.id}] + noise), session);
    }
  }
  const Model model = modelOf(plan, records.results, {});
  CHECK(model.sessions == 12);
  CHECK(model.metrics[0].noise == doctest::Approx(0.02).epsilon(0.15));
  CHECK(model.metrics[0].apart == doctest::Approx(0.04).epsilon(0.25));
  CHECK(model.metrics[0].shared == doctest::Approx(0.1).epsilon(0.6));
  CHECK(model.metrics[0].drift < 0.01);
  for (store::Trial& trial : records.results.trials) trial.session = 1;
  CHECK(modelOf(plan, records.results, {}).metrics[0].apart == 0);
  CHECK(modelOf(plan, {}, {}).sessions == 1);
}

TEST_CASE("values that tie with the bound are foretold to, also those of one point") {
  constexpr unsigned kStudies = 600, kTrials = 20, kItems = 50;
  plan::Plan plan = study(0, kTrials);
  plan.design.kinds.erase(plan.design.kinds.begin());
  plan.points.resize(1);
  plan.criteria = {criterion({metricCells(plan, "accuracy").front()}, {Relation::Greater, 0.9, 0, "> 90 %"}, "", 0.95)};
  plan.criteria[0].name = "good";
  stats::NormalStream stream(4);
  const auto accuracies = [&](unsigned trials) {
    Records records;
    for (unsigned block = 1; block <= trials; ++block) {
      unsigned right = 0;
      for (unsigned item = 0; item < kItems; ++item) right += stream.uniform() < 0.9;
      records.accuracy(plan.points[0].id, block, double(right) / kItems);
    }
    return records;
  };
  double fails = 0;
  for (unsigned i = 0; i < kStudies; ++i) {
    const auto verdict = judge::judge(plan, accuracies(kTrials).results).criteria[0].verdict;
    fails += double(verdict == judge::Verdict::Fail) / kStudies;
  }
  const Model model = modelOf(plan, accuracies(400).results, {});
  const auto accuracy = std::ranges::find(model.metrics, "accuracy", &MetricModel::name);
  CHECK(accuracy->origin == Origin::Measured);
  CHECK(accuracy->resolution.step() == doctest::Approx(0.02));
  const CriterionDiagnosis told = diagnose(plan, model, quickly(kStudies, {{"good", 0.9}})).design.criteria[0];
  CHECK(fails > 0.03);  // more than the 2.5 % of values that never tie
  CHECK(std::abs(told.chances->fail - fails) <= 1.5 * tolerance(fails, kStudies));
}

}  // namespace expc::simulate
