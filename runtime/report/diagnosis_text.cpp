// Describes a diagnosis: how a design would fare in many simulated studies. For each criterion the chances if things
// are as known, at the bound, and the effects from which it is decided in most studies. Shares come from a finite
// number of simulations, so they are printed with few digits.

#include <algorithm>
#include <cmath>

#include "runtime/base/format.h"
#include "runtime/base/numbers.h"
#include "runtime/judge/format.h"
#include "runtime/plan/evaluate.h"
#include "runtime/report/paint.h"
#include "runtime/report/reasons.h"
#include "runtime/report/sections.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

using simulate::Chances;
using simulate::CriterionDiagnosis;
using simulate::DesignDiagnosis;
using simulate::Diagnosis;

std::string shareOfStudies(double value) {
  // Small shares get a digit more. A share of 0 says only that it never happened in these studies.
  return fmt::format("{:.{}f} %", value * 100, value > 0 && value < 0.1 ? 1 : 0);
}

/// Returns the chances as text: "pass 97 %, fail 0 %, undecided 3 %".
std::string chances(const Chances& of) {
  return fmt::format("pass {}, fail {}, undecided {}", shareOfStudies(of.pass), shareOfStudies(of.fail),
                     shareOfStudies(of.open));
}

/// Formats a value with as many digits as tell it from the bound and from the criterion's other values that are
/// printed.
std::string valueText(const Plan& plan, const Criterion& criterion, const CriterionDiagnosis& one, double value) {
  Bounds others = boundsOf(criterion.bound);
  const auto beside = [&](double other) {
    constexpr double kAlike = 1e-4;  // limits are not known better
    if (std::abs(other - value) > kAlike * std::abs(value)) others.ends.push_back(other);
  };
  if (!one.known.empty()) beside(one.least), beside(one.most);
  for (const auto& limit : {one.passes_from, one.fails_from})
    if (limit) beside(*limit);
  return formatAgainst(value, others, criterion.unit, judge::dimensionOf(plan, criterion.cells.front()));
}

/// Says under which truth a criterion was simulated: "if the true values are 1.45x to 1.52x (measured)".
std::string truthText(const Plan& plan, const Criterion& criterion, const CriterionDiagnosis& one) {
  if (!one.valued) return "without a value";
  if (!criterion.assertions.empty()) return "if the true values are as " + one.known;
  const std::string least = valueText(plan, criterion, one, one.least),
                    most = valueText(plan, criterion, one, one.most);
  const std::string timeouts =
      one.timeouts > 0 ? fmt::format(" where no trial times out; up to {} do", shareOfStudies(one.timeouts)) : "";
  return fmt::format("if the true value{} {} ({}{})", least == most ? " is" : "s are",
                     least == most ? least : least + " to " + most, one.known, timeouts);
}

/// Lists the points at which trials end in a certain way: "30 % of timed trials at arm=b"; "" if there are none.
std::string endsText(const Plan& plan, const simulate::Model& model, double simulate::PointEnds::* share) {
  constexpr size_t kShown = 4;
  std::vector<std::string> texts;
  for (const auto& [kind, ends] : model.ends)
    for (size_t i = 0; i < ends.size(); ++i)
      if (ends[i].*share > 0)
        texts.push_back(fmt::format("{} of {} trials at {}", shareOfStudies(ends[i].*share), toString(kind),
                                    placeText(plan, plan.points[i].id)));
  // A design with many such points would fill the screen; the first few show the pattern.
  const size_t all = texts.size();
  texts.resize(std::min(all, kShown));
  return joined(texts) + (all > kShown ? fmt::format(" and more at {}", counted(all - kShown, "other point")) : "");
}

/// Describes the sessions of a simulated study: their number, and their effect on values.
std::string sessionsText(const simulate::Model& model) {
  if (model.sessions < 2)
    return "All trials come from one session. If restarts of the machine interrupt a study, it decides less often: "
           "--sessions N simulates that.";
  const bool apart = std::ranges::any_of(model.metrics, [](const auto& one) { return one.apart + one.shared > 0; });
  return fmt::format("The trials come from {} sessions, {}.", model.sessions,
                     apart                       ? "which differ as the stored ones do"
                     : model.stored_sessions > 1 ? "which do not differ, as the stored ones show no difference"
                                                 : "which do not differ; how much they would is not measured");
}

/// "10 timed and 3 quality".
std::string repetitions(const Plan& plan, const DesignDiagnosis& design) {
  std::vector<std::string> texts;
  for (const KindDesign& kind : plan.design.kinds)
    if (kind.kind != TrialKind::Profile)
      texts.push_back(fmt::format("{} {}", design.most.at(kind.kind), toString(kind.kind)));
  return joined(texts, " and ");
}

/// Returns what a design costs: trials and blocks of each kind, and the time.
std::string costText(const DesignDiagnosis& design) {
  std::vector<std::string> texts;
  for (const auto& [kind, trials] : design.trials) {
    const double blocks = design.blocks.at(kind);
    texts.push_back(
        fmt::format("{:.4g} {} trials in {:.3g} block{}", trials, toString(kind), blocks, blocks == 1 ? "" : "s"));
  }
  std::string text = joined(texts, ", ");
  if (design.seconds) text += "; about " + durationText(*design.seconds) + " if run one at a time";
  return text;
}

/// Says from which true value on a criterion is decided in most studies (simulate::kPower), for passing and for
/// failing.
std::string powerText(const Plan& plan, const Criterion& criterion, const CriterionDiagnosis& one) {
  const bool own = !criterion.assertions.empty() || criterion.cells.front().bound.has_value();
  const auto end = [&](const char* word, const std::optional<double>& value, const std::optional<double>& distance,
                       bool passes) {
    // No distance in the sweep reached the power: the effect that it would take is beyond what was simulated.
    if (!distance) return fmt::format("cannot {} for any effect in the simulated range", word);
    if (!value && !own) return fmt::format("cannot {}, because that would need an impossible value", word);
    if (!value)
      return fmt::format("{} if the true value is {:.1f} half-widths of the interval {} the bound", word,
                         std::abs(*distance), passes ? "inside" : "outside");
    // For an upper bound, passing means small values: "pass if the true value is at most 12 ms".
    const bool below =
        criterion.bound.relation == plan::Relation::LessEqual || criterion.bound.relation == plan::Relation::Less;
    return fmt::format("{} if the true value is at {} {}", word, below == passes ? "most" : "least",
                       valueText(plan, criterion, one, *value));
  };
  return fmt::format("power {:.0f} %: {}, {}", simulate::kPower * 100,
                     end("pass", one.passes_from, one.passes_at, true),
                     end("fail", one.fails_from, one.fails_at, false));
}

/// Adds the lines of one criterion: chances under what is known, what keeps it open, chances at its bound, its power,
/// and the larger design.
void addCriterion(const Plan& plan, const Diagnosis& diagnosis, size_t c, std::vector<Block>& blocks) {
  const Criterion& criterion = plan.criteria[c];
  const CriterionDiagnosis& one = diagnosis.design.criteria[c];
  blocks.emplace_back(Paragraph{.text = criterion.text, .of = one.name, .apart = true});
  const auto say = [&](std::string text) { blocks.emplace_back(Paragraph{.text = std::move(text), .depth = 1}); };
  // Without simulation, or without a value in any study, there is nothing more to say.
  if (one.skipped) return say("not simulated: " + inWords(plan, one.skipped).text);
  if (!one.valued) return say(chancesText(plan, criterion, one, diagnosis.studies));
  if (one.chances)
    say(truthText(plan, criterion, one) + ": " + chances(*one.chances) +
        (one.coverage ? fmt::format("; coverage {:.1f} %", *one.coverage * 100) : ""));
  else
    say("the true value is unknown: measure it" +
        (criterion.assertions.empty() ? ", or state it with --effect " + one.name + "=VALUE" : ""));
  if (one.untrusted > 0)
    say(fmt::format(
        "in {} of studies the control leaves the claim undecided by chance, though identical runs are alike",
        shareOfStudies(one.untrusted)));
  if (const auto noise = simulate::noiseOf(diagnosis.model, criterion))
    if (std::string text = controlNeedText(plan, criterion, *noise); !text.empty()) say(std::move(text));
  // The budget can end a study before its trials are in, which no further block helps.
  if (one.cut_off > 0)
    say(fmt::format("in {} of studies the budget of {} ends before enough trials are measured",
                    shareOfStudies(one.cut_off), durationText(plan.design.budget_seconds.value_or(0))));
  if (one.sweeps.empty())
    return say(one.timeouts > 0 ? "its values do not vary where no trial times out"
                                : "its values do not vary, so the first two runs decide");
  for (const simulate::Sweep& sweep : one.sweeps)
    if (sweep.distance == 0)
      say((criterion.assertions.empty() ? "if the true value is at the bound: " : "if each value is at its bound: ") +
          chances(sweep.chances));
  say(powerText(plan, criterion, one));
  // Half as many repetitions again, to show what more work would bring.
  if (diagnosis.larger && diagnosis.larger->most != diagnosis.design.most)
    say(fmt::format("with {} blocks: {}{}", repetitions(plan, *diagnosis.larger),
                    one.chances
                        ? chances(*diagnosis.larger->criteria[c].chances) + " " + truthText(plan, criterion, one) + "; "
                        : "",
                    powerText(plan, criterion, diagnosis.larger->criteria[c])));
  // The shares above take the estimate for the true value, and the next step of a report allows for its error.
  using Reach = judge::NextStep::Reach;
  if (one.next && (one.next->reach == Reach::Decides || one.next->reach == Reach::OutOfReach))
    say("to continue from the stored blocks: " + adviceText(criterion, *one.next, diagnosis.model.stored_sessions));
}

}  // namespace

std::string chancesText(const Plan& plan, const Criterion& criterion, const CriterionDiagnosis& one, unsigned studies) {
  if (!one.chances) return "";
  return fmt::format("{}: {} of {} simulated studies", truthText(plan, criterion, one), chances(*one.chances), studies);
}

std::vector<Block> diagnosisBlocks(const Plan& plan, const Diagnosis& diagnosis) {
  std::vector<Block> blocks{
      Paragraph{.text = fmt::format("{} blocks, {} (seed {})", repetitions(plan, diagnosis.design),
                                    counted(plan.points.size(), "point"), diagnosis.seed),
                .of = fmt::format("{} simulated studies of {}", diagnosis.studies, plan.study)},
      Paragraph{"noise of one trial: " + noiseText(diagnosis.model)}};
  say(blocks, {sessionsText(diagnosis.model)});
  if (diagnosis.model.lost > 0) say(blocks, {"lost trials: " + shareOfStudies(diagnosis.model.lost)});
  if (diagnosis.model.disturbed > 0) say(blocks, {"disturbed trials: " + shareOfStudies(diagnosis.model.disturbed)});
  if (const std::string text = endsText(plan, diagnosis.model, &simulate::PointEnds::infeasible); !text.empty())
    say(blocks, {"out of memory: " + text});
  if (const std::string text = endsText(plan, diagnosis.model, &simulate::PointEnds::timeouts); !text.empty())
    say(blocks, {"timeouts: " + text});
  say(blocks, {costText(diagnosis.design)});
  for (size_t c = 0; c < plan.criteria.size(); ++c) addCriterion(plan, diagnosis, c, blocks);
  if (plan.criteria.empty()) say(blocks, {"the study has no criterion to decide"});
  if (diagnosis.larger)
    say(blocks, {.text = costText(*diagnosis.larger),
                 .of = fmt::format("a larger design of {} blocks", repetitions(plan, *diagnosis.larger)),
                 .apart = true});
  return blocks;
}

}  // namespace expc::report
