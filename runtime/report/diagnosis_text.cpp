#include "runtime/report/diagnosis_text.h"

#include <fmt/format.h>

#include <cmath>

#include "runtime/analysis/bound.h"
#include "runtime/analysis/format.h"
#include "runtime/plan/json.h"
#include "runtime/report/layout.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;
using simulate::Chances;
using simulate::CriterionDiagnosis;
using simulate::DesignDiagnosis;
using simulate::Diagnosis;

std::string shareOfStudies(double value) {
  // What never happened in these studies may still happen.
  return fmt::format("{:.{}f} %", value * 100, value > 0 && value < 0.1 ? 1 : 0);
}

std::string chances(const Chances& of) {
  return fmt::format("passes {}, fails {}, open {}", shareOfStudies(of.pass), shareOfStudies(of.fail),
                     shareOfStudies(of.open));
}

std::string valueText(const plan::Plan& plan, const plan::Criterion& criterion, double value) {
  return analysis::formatAgainst(value, analysis::ends(criterion.bound), criterion.unit,
                                 analysis::dimensionOf(plan, criterion.cells.front()));
}

std::string truthText(const plan::Plan& plan, const plan::Criterion& criterion, const CriterionDiagnosis& one) {
  const std::string least = valueText(plan, criterion, one.least), most = valueText(plan, criterion, one.most);
  return fmt::format("as {} ({})", one.known, least == most ? least : least + " to " + most);
}

/// "10 timed, 3 quality".
std::string repetitions(const plan::Plan& plan, const DesignDiagnosis& design) {
  std::vector<std::string> texts;
  for (const plan::KindDesign& kind : plan.design.kinds)
    if (kind.kind != plan::TrialKind::Profile)
      texts.push_back(fmt::format("{} {}", design.most.at(kind.kind), toString(kind.kind)));
  return joined(texts, " and ");
}

std::string costText(const DesignDiagnosis& design) {
  std::vector<std::string> texts;
  for (const auto& [kind, trials] : design.trials) {
    const double blocks = design.blocks.at(kind);
    texts.push_back(
        fmt::format("{:.4g} {} trials in {:.3g} block{}", trials, toString(kind), blocks, blocks == 1 ? "" : "s"));
  }
  std::string text = joined(texts, ", ");
  if (design.seconds) text += "; about " + durationText(*design.seconds) + " one after the other";
  return text;
}

class Writer : TerminalText {
 public:
  Writer(const plan::Plan& plan, const Diagnosis& diagnosis, const DiagnosisTextOptions& options)
      : TerminalText(options.width, options.colour), plan_(plan), diagnosis_(diagnosis) {}

  std::string all() {
    line(fmt::format("{} simulated studies of {}: {} repetitions of {} (seed {})", diagnosis_.studies,
                     paint_.bold(plan_.study), repetitions(plan_, diagnosis_.design),
                     counted(plan_.points.size(), "point"), diagnosis_.seed),
         0, 4);
    line("noise of one trial: " + noiseText(diagnosis_.model), 0, 4);
    if (diagnosis_.model.lost > 0) line("trials that are lost: " + shareOfStudies(diagnosis_.model.lost), 0, 4);
    line(costText(diagnosis_.design), 0, 4);
    for (size_t c = 0; c < plan_.criteria.size(); ++c) criterion(c);
    if (plan_.criteria.empty()) line("there is no criterion to decide", 0, 4);
    if (diagnosis_.larger) {
      out_ += '\n';
      line(fmt::format("a larger design of {} repetitions: {}", repetitions(plan_, *diagnosis_.larger),
                       costText(*diagnosis_.larger)),
           0, 4);
    }
    return std::move(out_);
  }

 private:
  void criterion(size_t c) {
    const plan::Criterion& criterion = plan_.criteria[c];
    const CriterionDiagnosis& one = diagnosis_.design.criteria[c];
    out_ += '\n';
    line(paint_.bold(one.name) + ": " + printable(criterion.text), 0, 6);
    if (!one.skipped.empty()) return line("not simulated: " + one.skipped, 4, 6);
    if (one.chances) {
      std::string text = truthText(plan_, criterion, one) + ": " + chances(*one.chances);
      if (one.coverage) text += fmt::format("; intervals cover what is true in {:.1f} %", *one.coverage * 100);
      line(text, 4, 6);
    } else {
      line("what is true of it is not known: measure, or state it with --effect " + one.name + "=VALUE", 4, 6);
    }
    if (one.untrusted > 0)
      line(fmt::format("a control keeps it open in {} of studies, whatever its values are: the same twice differs too "
                       "much at this noise",
                       shareOfStudies(one.untrusted)),
           4, 6);
    if (one.cut_off > 0)
      line(fmt::format("the budget of {} keeps it open in {} of studies: it is spent before the trials are in",
                       durationText(plan_.design.budget_seconds.value_or(0)), shareOfStudies(one.cut_off)),
           4, 6);
    if (one.sweeps.empty()) return line("its values do not vary, so the first two decide it", 4, 6);
    for (const simulate::Sweep& sweep : one.sweeps)
      if (sweep.distance == 0) line("if it is at its bound: " + chances(sweep.chances), 4, 6);
    line(powerText(criterion, one), 4, 6);
    if (diagnosis_.larger && diagnosis_.larger->most != diagnosis_.design.most)
      line(fmt::format("with {}: {}{}", repetitions(plan_, *diagnosis_.larger),
                       powerText(criterion, diagnosis_.larger->criteria[c]),
                       one.chances ? "; " + chances(*diagnosis_.larger->criteria[c].chances) + " " +
                                         truthText(plan_, criterion, one)
                                   : ""),
           4, 6);
  }

  /// From where on the criterion is decided in most studies.
  std::string powerText(const plan::Criterion& criterion, const CriterionDiagnosis& one) const {
    const bool own = criterion.cells.front().bound.has_value();
    const auto end = [&](const char* word, const std::optional<double>& value, const std::optional<double>& distance,
                         bool passes) {
      if (!distance)
        return fmt::format("{} nowhere within {:.0f} half-widths of its interval", word, one.sweeps.back().distance);
      if (!value && !own)
        return fmt::format("{} nowhere, since it would take a value that there cannot be: this design cannot {}", word,
                           passes ? "pass" : "fail");
      if (!value)
        return fmt::format("{} where it truly lies {:.1f} half-widths of its interval {} the bound", word,
                           std::abs(*distance), passes ? "inside" : "outside");
      const bool below =
          criterion.bound.relation == plan::Relation::LessEqual || criterion.bound.relation == plan::Relation::Less;
      return fmt::format("{} from {} {}", word, valueText(plan_, criterion, *value), below == passes ? "down" : "on");
    };
    return fmt::format("in {:.0f} % of studies it {}, and {}", simulate::kPower * 100,
                       end("passes", one.passes_from, one.passes_at, true),
                       end("fails", one.fails_from, one.fails_at, false));
  }

  const plan::Plan& plan_;
  const Diagnosis& diagnosis_;
};

Value optional(const std::optional<double>& value) { return value ? Value(*value) : Value(nullptr); }

Object chancesJson(const Chances& of) { return Object{{"pass", of.pass}, {"fail", of.fail}, {"open", of.open}}; }

Object criterionJson(const CriterionDiagnosis& one) {
  Object object{{"name", plan::jsonText(one.name)}};
  if (!one.skipped.empty()) {
    object["skipped"] = plan::jsonText(one.skipped);
    return object;
  }
  object["known"] =
      one.known.empty() ? Value(nullptr) : Value(Object{{"from", one.known}, {"least", one.least}, {"most", one.most}});
  object["chances"] = one.chances ? Value(chancesJson(*one.chances)) : Value(nullptr);
  object["coverage"] = optional(one.coverage);
  object["kept_open"] = Object{{"by_control", one.untrusted}, {"by_budget", one.cut_off}};
  object["half_width"] = one.reach;
  Array sweeps;
  for (const simulate::Sweep& sweep : one.sweeps)
    sweeps.push_back(Object{
        {"half_widths", sweep.distance}, {"value", optional(sweep.value)}, {"chances", chancesJson(sweep.chances)}});
  object["sweeps"] = std::move(sweeps);
  object["passes_from"] = optional(one.passes_from);
  object["fails_from"] = optional(one.fails_from);
  return object;
}

Object designJson(const DesignDiagnosis& design) {
  Object repetitions, blocks, trials;
  for (const auto& [kind, most] : design.most) repetitions[std::string(toString(kind))] = most;
  for (const auto& [kind, mean] : design.blocks) blocks[std::string(toString(kind))] = mean;
  for (const auto& [kind, mean] : design.trials) trials[std::string(toString(kind))] = mean;
  Array criteria;
  for (const CriterionDiagnosis& one : design.criteria) criteria.push_back(criterionJson(one));
  return Object{{"repetitions", std::move(repetitions)},
                {"blocks", std::move(blocks)},
                {"trials", std::move(trials)},
                {"seconds", optional(design.seconds)},
                {"criteria", std::move(criteria)}};
}

}  // namespace

std::string chancesText(const plan::Plan& plan, const plan::Criterion& criterion, const CriterionDiagnosis& one,
                        unsigned studies) {
  if (!one.chances) return "";
  return fmt::format("{}: {} of {} simulated studies", truthText(plan, criterion, one), chances(*one.chances), studies);
}

std::string diagnosisText(const plan::Plan& plan, const Diagnosis& diagnosis, const DiagnosisTextOptions& options) {
  return Writer(plan, diagnosis, options).all();
}

Value diagnosisJson(const plan::Plan& plan, const Diagnosis& diagnosis) {
  Array noise;
  for (const simulate::MetricModel& metric : diagnosis.model.metrics)
    noise.push_back(Object{{"metric", plan::jsonText(metric.name)},
                           {"kind", std::string(toString(metric.kind))},
                           {"noise", metric.noise},
                           {"drift", metric.drift},
                           {"relative", metric.multiplies},
                           {"from", metric.origin == simulate::Origin::Measured ? "measured"
                                    : metric.origin == simulate::Origin::Stated ? "stated"
                                                                                : "assumed"},
                           {"trials", metric.trials}});
  return Object{{"schema", "expc.diagnosis/1"},
                {"study", plan::jsonText(plan.study)},
                {"studies", diagnosis.studies},
                {"seed", static_cast<int64_t>(diagnosis.seed)},
                {"noise", std::move(noise)},
                {"lost", diagnosis.model.lost},
                {"design", designJson(diagnosis.design)},
                {"larger", diagnosis.larger ? Value(designJson(*diagnosis.larger)) : Value(nullptr)}};
}

}  // namespace expc::report
