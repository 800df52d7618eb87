// A diagnosis draws each study once and judges it under 14 scenarios: at the known truths, and with all truths at
// each of 13 distances from the bounds. Distances are in half-widths of the criterion's own interval, because then
// one ladder serves every metric, design and noise; 40 studies without timeouts measure these half-widths first.
// All studies have seeds of their own, so the result does not depend on the number of threads.

#include "runtime/simulate/diagnosis.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/base/parallel.h"
#include "runtime/judge/criteria.h"
#include "runtime/judge/readings.h"
#include "runtime/plan/evaluate.h"
#include "runtime/simulate/study.h"

namespace expc::simulate {
namespace {

/// Distances of the truth from the bound, in half-widths of the interval. Denser near 0, where the chances change
/// most.
constexpr double kDistances[] = {-4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4};
/// Number of studies that measure the half-width, from which the distances are placed. Its error only shifts the
/// places.
constexpr unsigned kTrial = 40;

/// The value of a metric at a point without noise. Derived metrics are computed from the centres of what they read.
plan::Reading centreOf(const Plan& plan, const Model& model, const MetricTerm& term) {
  const Metric* declared = plan.findMetric(term.metric);
  const Point* point = plan.findPoint(term.place.point);
  if (declared && declared->derived)
    return plan::evaluate(
        *declared->derived, [&](const MetricTerm& part) { return centreOf(plan, model, {part.metric, term.place}); },
        point ? &point->parameters : nullptr);
  if (const MetricModel* metric = base::named(model.metrics, term.metric); point && metric)
    return {metric->centres[point - plan.points.data()]};
  return {std::nullopt, {}, plan::because({.code = plan::Reason::NotInTrials, .name = term.metric})};
}

/// Whether the term only multiplies and divides. Then noise that is a share of each metric gives a share of the
/// term, and the metrics' sizes need not be known.
bool isProduct(const Plan& plan, const plan::Term& term) {
  using Op = plan::OperationTerm::Op;
  return !anyPart(plan, term, [](const plan::Term& one) {
    const auto* operation = one.as<plan::OperationTerm>();
    return operation && operation->op != Op::Product && operation->op != Op::Quotient && operation->op != Op::Ratio;
  });
}

/// Whether the cell can have the value: a share that is measured lies between 0 and 1.
bool isPossible(const Plan& plan, const plan::Cell& cell, double value) {
  const auto* term = cell.term->as<MetricTerm>();
  const Metric* metric = term ? plan.findMetric(term->metric) : nullptr;
  return !metric || metric->derived || metric->dimension != "share" || (0 <= value && value <= 1);
}

/// Whether stored trials have every metric that the term reads, at its points.
bool isMeasured(const Plan& plan, const Model& model, const plan::Term& term) {
  const std::vector<MetricTerm> read = plan::measuredTerms(plan, term);
  return !read.empty() && std::ranges::all_of(read, [&](const MetricTerm& part) {
    const Point* point = plan.findPoint(part.place.point);
    const MetricModel* metric = base::named(model.metrics, part.metric);
    return point && metric && metric->known[point - plan.points.data()];
  });
}

/// The true value of each cell under the model, without noise; NaN if it has none.
std::vector<std::vector<double>> truthsOf(const Plan& plan, const Model& model) {
  std::vector<std::vector<double>> truths;
  for (const Criterion& criterion : plan.criteria) {
    truths.emplace_back();
    for (const plan::Cell& cell : criterion.cells)
      truths.back().push_back(plan::evaluate(*cell.term, [&](const MetricTerm& term) {
                                return centreOf(plan, model, term);
                              }).value.value_or(kNone));
  }
  return truths;
}

/// A bound that `truth` meets if and only if `wanted` meets `bound`. Bounds are moved in place of trials, so that
/// one set of drawn trials serves every truth.
plan::Bound moved(plan::Bound bound, bool by_factor, double truth, double wanted) {
  const auto move = [&](double end) { return by_factor ? end * truth / wanted : end + truth - wanted; };
  bound.low = move(bound.low);
  bound.high = move(bound.high);
  return bound;
}

/// The truth that lies at a distance from the bound, in half-widths `reach`; above 0 the bound holds. Within a
/// range the truth goes no farther inside than the middle.
double valueAt(const plan::Bound& bound, bool by_factor, double distance, double reach) {
  const bool below = bound.relation == plan::Relation::LessEqual || bound.relation == plan::Relation::Less;
  const double side = below ? -distance : distance;
  const double value = by_factor ? bound.low * std::exp(side * reach) : bound.low + side * reach;
  if (bound.relation != plan::Relation::Within || distance <= 0) return value;
  return std::min(value, by_factor ? std::sqrt(bound.low * bound.high) : (bound.low + bound.high) / 2);
}

/// Known true values of a criterion's cells, and their source; "" and none if unknown.
struct Known {
  std::string from;
  std::vector<double> values;
};

/// Truths in order of preference: stated by the user, measured, published values in the study.
Known knownOf(const Plan& plan, const Model& model, size_t number, const std::vector<double>& truths,
              const std::vector<bool>& by_factor, const DiagnosisOptions& options) {
  const Criterion& criterion = plan.criteria[number];
  const size_t cells = criterion.cells.size();
  const auto all = [&](auto holds) {
    return std::ranges::all_of(criterion.cells,
                               [&](const plan::Cell& cell) { return isSeen(criterion, cell) || holds(cell); });
  };
  const auto stated = [&](const plan::Cell& cell) { return options.effects.contains(effectName(criterion, cell)); };
  if (std::ranges::any_of(criterion.cells, stated)) {
    DiagnosisOptions others = options;
    for (const plan::Cell& cell : criterion.cells) others.effects.erase(effectName(criterion, cell));
    Known known = all(stated) ? Known{"", truths} : knownOf(plan, model, number, truths, by_factor, others);
    for (size_t i = 0; i < known.values.size(); ++i)
      if (stated(criterion.cells[i])) known.values[i] = options.effects.at(effectName(criterion, criterion.cells[i]));
    return known.values.empty() ? known : Known{"stated", std::move(known.values)};
  }
  if (all([&](const plan::Cell& cell) { return isMeasured(plan, model, *cell.term); })) {
    // The truth is the report's estimate from the same trials, or the points' own centres where there is no estimate.
    Known measured{"measured", truths};
    for (size_t i = 0; number < model.estimates.size() && i < std::min(cells, model.estimates[number].size()); ++i) {
      const double estimate = model.estimates[number][i].value_or(kNone);
      if (std::isfinite(estimate) && (!by_factor[criterion.cells[i].assertion] || estimate > 0))
        measured.values[i] = estimate;
    }
    return measured;
  }
  Known published{"published", {}};
  for (const plan::Cell& cell : criterion.cells)
    if (const auto value = judge::publishedValue(plan, *cell.term)) published.values.push_back(*value);
  return published.values.size() == cells && cells > 0 ? published : Known{};
}

/// Draws `studies` studies of one design on all cores. A seed of its own for each study makes the numbers
/// independent of the schedule.
std::vector<Drawn> drawAll(const Study& study, const std::vector<Scenario>& scenarios, unsigned studies, uint64_t seed,
                           const base::Tick& tick = nullptr) {
  std::vector<Drawn> drawn(studies);
  const auto one = [&](int64_t i) {
    drawn[i] = draw(study, scenarios, seed * 1'000'003 + uint64_t(i));
    return Error::success();
  };
  cantFail(base::forEach(studies, base::allCores(), one, tick));
  return drawn;
}

/// Diagnoses one design. Members are filled in the order in which diagnose() calls the functions below.
struct Designer {
  const Plan& plan;
  Model model;
  const DiagnosisOptions& options;
  const std::vector<std::vector<double>> truths = truthsOf(plan, model);
  const Study study = studyOf(plan, model, truths);
  std::vector<Known> facts = {};
  double blocks_in_one = 0;  // blocks of a study on average, if it had one session
  DesignDiagnosis diagnosis = {};

  DesignDiagnosis diagnose() {
    for (size_t c = 0; c < plan.criteria.size(); ++c) {
      CriterionDiagnosis one;
      one.name = plan.criteria[c].name;
      one.timeouts = timeoutsOf(plan.criteria[c]);
      one.skipped = whyNotSimulated(plan, plan.criteria[c]);
      for (const double truth : truths[c])
        if (!one.skipped && !std::isfinite(truth)) one.skipped = plan::because({plan::Reason::NoTruth});
      for (const plan::Cell& cell : plan.criteria[c].cells)
        if (!one.skipped && !isSeen(plan.criteria[c], cell) && !isProduct(plan, *cell.term) &&
            !isMeasured(plan, model, *cell.term))
          one.skipped = plan::because({plan::Reason::NoSize});
      for (const plan::Cell& cell : plan.criteria[c].cells)
        if (const auto* stated = entryOf(options.effects, effectName(plan.criteria[c], cell));
            stated && study.by_factor[c][cell.assertion] && !(*stated > 0))
          one.skipped = plan::because({plan::Reason::StatedNotPositive});
      facts.push_back(one.skipped ? Known{} : knownOf(plan, model, c, truths[c], study.by_factor[c], options));
      diagnosis.criteria.push_back(std::move(one));
    }
    findReaches();
    if (divideIntoSessions()) findReaches();
    // The first scenario is what is known; the others follow kDistances, so sweep i is scenario i + 1.
    std::vector<Scenario> scenarios{scenario(nullptr)};
    for (const double& distance : kDistances) scenarios.push_back(scenario(&distance));
    const std::vector<Drawn> drawn = drawAll(study, scenarios, options.studies, options.seed, options.tick);
    for (size_t c = 0; c < plan.criteria.size(); ++c)
      if (!diagnosis.criteria[c].skipped) gather(c, drawn);
    count(drawn);
    return std::move(diagnosis);
  }

  /// The highest share of timeouts among the points that the criterion reads.
  double timeoutsOf(const Criterion& criterion) const {
    double most = 0;
    for (const plan::Cell& cell : criterion.cells)
      for (const Place& place : cell.points)
        if (const Point* point = plan.findPoint(place.point); point && model.ends.contains(cell.kind))
          most = std::max(most, model.ends.at(cell.kind)[point - plan.points.data()].timeouts);
    return most;
  }

  /// The bounds of all criteria for one scenario: every cell at `*distance` from its bound; for a null pointer at
  /// its known truth, or at the model's centre if none is known.
  Scenario scenario(const double* distance) const {
    Scenario scenario = plan.criteria;
    for (size_t c = 0; c < plan.criteria.size(); ++c)
      for (const auto& [i, cell] : llvm::enumerate(plan.criteria[c].cells)) {
        const plan::Bound& bound = plan::boundOf(plan.criteria[c], cell);
        plan::Bound& own = scenario[c].cells[i].bound.emplace(bound);
        if (diagnosis.criteria[c].skipped || plan::isSeen(plan.criteria[c], cell)) continue;
        const bool by_factor = study.by_factor[c][cell.assertion];
        const double wanted = distance
                                  ? valueAt(bound, by_factor, *distance, diagnosis.criteria[c].reaches[cell.assertion])
                              : facts[c].values.empty() ? truths[c][i]
                                                        : facts[c].values[i];
        // If values have a step, the truth moves by whole steps, so that values tie with the bound as often as
        // before.
        const double step = study.steps[c][i], off = wanted - truths[c][i];
        const double to = step > 0 ? truths[c][i] + step * std::nearbyint(off / step) : wanted;
        own = moved(bound, by_factor, truths[c][i], to);
      }
    return scenario;
  }

  /// Divides a study of several sessions: each of N sessions has 1/N of the blocks that one session takes on
  /// average, and the last one goes on until the study ends. Returns false if there is one session. Half-widths
  /// must be measured again afterwards, since sessions widen intervals.
  bool divideIntoSessions() {
    if (model.sessions < 2 || model.blocks_of_session > 0) return false;
    model.blocks_of_session = std::max(1u, unsigned(std::lround(blocks_in_one / model.sessions)));
    return true;
  }

  /// Measures the mean half-width of each criterion's intervals and the number of blocks. Timeouts are left out:
  /// they make intervals infinite.
  void findReaches() {
    Study in_time = study;
    in_time.timeouts = false;
    const std::vector<Drawn> drawn =
        drawAll(in_time, {scenario(nullptr)}, std::min(kTrial, options.studies), options.seed);
    std::map<TrialKind, double> blocks;
    for (const Drawn& one : drawn)
      for (const auto& [kind, own] : one.endings[0].blocks) blocks[kind] += double(own) / drawn.size();
    for (const auto& [kind, mean] : blocks) blocks_in_one = std::max(blocks_in_one, mean);
    for (size_t c = 0; c < plan.criteria.size(); ++c) {
      CriterionDiagnosis& result = diagnosis.criteria[c];
      result.reaches.assign(study.by_factor[c].size(), 0);
      for (size_t a = 0; a < result.reaches.size(); ++a) {
        double sum = 0;
        unsigned count = 0;
        for (const Drawn& one : drawn) {
          if (std::isnan(one.reach[c][a])) continue;
          sum += one.reach[c][a];
          ++count;
        }
        result.reaches[a] = count ? sum / count : 0;
        result.valued |= count > 0;
      }
      const auto varies = std::ranges::find_if(result.reaches, [](double reach) { return reach > 0; });
      result.reach = varies == result.reaches.end() ? 0 : *varies;
    }
  }

  /// Shares of verdicts of criterion `c` under one scenario.
  Chances chancesOf(size_t c, size_t scenario, const std::vector<Drawn>& drawn) const {
    Chances chances;
    for (const Drawn& one : drawn) {
      const Verdict verdict = one.endings[scenario].verdicts[c];
      chances.pass += verdict == Verdict::Pass;
      chances.fail += verdict == Verdict::Fail || verdict == Verdict::Infeasible;
    }
    const auto studies = double(drawn.size());
    chances.pass /= studies;
    chances.fail /= studies;
    chances.open = 1 - chances.pass - chances.fail;
    return chances;
  }

  /// Fills in the diagnosis of criterion `c` from all drawn studies.
  void gather(size_t c, const std::vector<Drawn>& drawn) {
    CriterionDiagnosis& result = diagnosis.criteria[c];
    const Criterion& criterion = plan.criteria[c];
    if (!facts[c].values.empty()) {
      const auto [least, most] = std::ranges::minmax_element(facts[c].values);
      result.known = facts[c].from;
      result.least = *least;
      result.most = *most;
    }
    if (!facts[c].values.empty() || !result.valued) result.chances = chancesOf(c, 0, drawn);
    Coverage coverage;
    for (const Drawn& one : drawn) {
      result.untrusted += one.endings[0].untrusted[c];
      result.cut_off += one.endings[0].cut_off[c];
      coverage.covered += one.coverage[c].covered;
      coverage.cells += one.coverage[c].cells;
    }
    result.untrusted /= double(drawn.size());
    result.cut_off /= double(drawn.size());
    // With timeouts the model's centre is not what an interval estimates, so coverage would mean nothing.
    if (coverage.cells > 0 && criterion.confidence && result.timeouts == 0)
      result.coverage = double(coverage.covered) / coverage.cells;
    if (result.reach <= 0) return;
    const bool own = !criterion.assertions.empty() || std::ranges::any_of(criterion.cells, [](const plan::Cell& cell) {
      return cell.bound.has_value();
    });
    for (size_t i = 0; i < std::size(kDistances); ++i) {
      Sweep sweep{kDistances[i], std::nullopt, chancesOf(c, i + 1, drawn)};
      if (!own) sweep.value = valueAt(criterion.bound, study.by_factor[c][0], kDistances[i], result.reach);
      result.sweeps.push_back(sweep);
    }
    findPower(c, own);
  }

  /// Finds the distances at which the chances to pass and to fail reach kPower, by linear interpolation between two
  /// sweeps. Searched outwards from the bound, so a chance that falls again far outside does not hide the first
  /// crossing.
  void findPower(size_t c, bool own) {
    CriterionDiagnosis& result = diagnosis.criteria[c];
    const Criterion& criterion = plan.criteria[c];
    const auto at = [&](double Chances::* chance, auto first, auto last) -> std::optional<double> {
      for (auto sweep = first; sweep != last; ++sweep) {
        if (sweep->chances.*chance < kPower) continue;
        if (sweep == first) return sweep->distance;
        const auto before = std::prev(sweep);
        const double less = before->chances.*chance, rise = sweep->chances.*chance - less;
        return before->distance + (sweep->distance - before->distance) * (kPower - less) / rise;
      }
      return std::nullopt;
    };
    const auto middle = std::ranges::find_if(result.sweeps, [](const Sweep& sweep) { return sweep.distance >= 0; });
    result.passes_at = at(&Chances::pass, middle, result.sweeps.end());
    const auto outwards = std::make_reverse_iterator(std::next(middle));
    result.fails_at = at(&Chances::fail, outwards, result.sweeps.rend());
    if (own) return;
    const auto value = [&](const std::optional<double>& distance) -> std::optional<double> {
      if (!distance) return std::nullopt;
      const double found = valueAt(criterion.bound, study.by_factor[c][0], *distance, result.reach);
      return isPossible(plan, criterion.cells.front(), found) ? std::optional(found) : std::nullopt;
    };
    result.passes_from = value(result.passes_at);
    result.fails_from = value(result.fails_at);
  }

  /// Means of blocks, trials and seconds at the known truths. Seconds stay unknown as soon as one kind's are.
  void count(const std::vector<Drawn>& drawn) {
    for (const KindDesign& design : plan.design.kinds) diagnosis.most[design.kind] = design.most();
    for (const Drawn& one : drawn) {
      for (const auto& [kind, blocks] : one.endings[0].blocks) diagnosis.blocks[kind] += blocks;
      for (const auto& [kind, trials] : one.endings[0].trials) diagnosis.trials[kind] += double(trials);
    }
    for (auto* sums : {&diagnosis.blocks, &diagnosis.trials})
      for (auto& [kind, sum] : *sums) sum /= double(drawn.size());
    for (const KindDesign& design : plan.design.kinds) {
      if (design.kind != TrialKind::Profile) continue;  // not drawn: these run as planned
      const auto startable = std::ranges::count_if(plan.started(), &Point::startable);
      diagnosis.blocks[design.kind] = design.repeat;
      diagnosis.trials[design.kind] = double(design.repeat) * double(startable);
    }
    double seconds = 0;
    for (const auto& [kind, trials] : diagnosis.trials) {
      const double* known = entryOf(model.seconds, kind);
      if (!known) return;
      if (kind == TrialKind::Profile) seconds += trials * *known;
    }
    for (const Drawn& one : drawn)
      for (const auto& [kind, spent] : one.endings[0].seconds) seconds += spent / double(drawn.size());
    diagnosis.seconds = seconds;
  }
};

/// The plan with half as many repetitions again of the kinds that claims with a confidence read; looks move in
/// proportion.
Plan largerOf(Plan plan) {
  const auto more = [](unsigned repetitions) { return repetitions + (repetitions + 1) / 2; };
  for (KindDesign& design : plan.design.kinds) {
    const bool judged = std::ranges::any_of(
        plan.criteria, [&](const Criterion& criterion) { return judge::isLookedAt(criterion, design.kind); });
    if (!judged) continue;
    unsigned& most = design.until.empty() ? design.repeat : design.repeat_most;
    most = more(most);
    design.repeat_most = std::max(design.repeat_most, most);
    for (unsigned& look : design.looks) look = more(look);
  }
  return plan;
}

}  // namespace

std::string effectName(const Criterion& criterion, const plan::Cell& cell) {
  const plan::Assertion* assertion = plan::assertionOf(criterion, cell);
  if (!assertion) return criterion.name;
  // The text begins with the subject: "gain[cache = true] >= 1.1x".
  return criterion.name + "." + assertion->text.substr(0, assertion->text.find_first_of(" [<>="));
}

uint64_t workOf(const Plan& plan) {
  uint64_t cells = 0, most = 0;
  for (const Criterion& criterion : plan.criteria) cells += criterion.cells.size();
  for (const KindDesign& design : plan.design.kinds)
    if (design.kind != TrialKind::Profile) most += design.most();
  return most * (plan.points.size() + cells * std::size(kDistances));
}

Diagnosis diagnose(const Plan& plan, Model model, const DiagnosisOptions& options) {
  Diagnosis diagnosis;
  diagnosis.studies = options.studies;
  diagnosis.seed = options.seed;
  diagnosis.design = Designer{plan, model, options}.diagnose();
  if (options.larger) {
    const Plan larger = largerOf(plan);
    diagnosis.larger = Designer{larger, model, options}.diagnose();
  }
  diagnosis.model = std::move(model);
  return diagnosis;
}

}  // namespace expc::simulate
