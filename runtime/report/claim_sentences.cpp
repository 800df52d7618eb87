// Sentences of single claims. A claim is first classed by its form: what its cells compute, and of what. The form's row
// in kForms gives the sentence for a claim that holds and for one that does not. Everything here is built from names,
// bounds and estimates that the judgement has already.

#include "runtime/report/claim_sentences.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/numbers.h"
#include "runtime/base/word.h"
#include "runtime/judge/cells.h"
#include "runtime/judge/format.h"
#include "runtime/judge/meaning.h"
#include "runtime/plan/evaluate.h"
#include "runtime/plan/labels.h"
#include "runtime/report/cell_choice.h"
#include "runtime/report/html_text.h"
#include "runtime/report/paint.h"
#include "runtime/report/reasons.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

using plan::Relation;

/// The kinds of claims that have sentences of their own: ratios of times, other ratios, further comparisons of two arms
/// (up to Curves), then claims about one.
enum class Form { Faster, Takes, Times, Scaling, Differs, Curves, Reaches, EveryRun, Level, Agrees, Memory, Other };

/// The sentences of a form, without the place. 0: the treated level. 1: the baseline. 2: the metric, or what the claim
/// names. 3: the bound in words. 4: the estimate.
struct FormTexts {
  Form form;
  const char *claim, *found;
};
constexpr FormTexts kForms[] = {
    {Form::Faster, "{0} is {3} times as fast as {1}", "{0} is {4} times as fast as {1}"},
    {Form::Takes, "{0} takes {3} times {2} {1}", "{0} takes {4} times {2} {1}"},
    {Form::Times, "{0} has {3} times the {2} of {1}", "{0} has {4} times the {2} of {1}"},
    {Form::Scaling, "{0} reaches {3} of ideal scaling from {1}", "{0} reaches {4} of ideal scaling from {1}"},
    {Form::Differs, "{2} of {0} is {3} than that of {1}", "{2} of {0} is {4} than that of {1}"},
    {Form::Curves, "the {2} curves of {0} and {1} are {3} apart", "the {2} curves of {0} and {1} are {4} apart"},
    {Form::Reaches, "{2} {3}", "{2} takes {4}"},
    {Form::EveryRun, "{2} is {3}", "{2} is {4}"},
    {Form::Level, "the median {2} is {3}", "the median {2} is {4}"},
    {Form::Agrees, "{2} agrees with {3}", "{2} is {4}"},
    {Form::Memory, "{0} runs out of memory", "{0} runs out of memory"},
    {Form::Other, "{2} is {3}", "{2} is {4}"}};

/// The sentences of a ratio whose bound is 1: of times, then of other metrics. {2} is the metric. `asked` is the claim
/// in short, which follows the finding of a claim that fails.
struct AtOneTexts {
  Form form;
  Relation relation;
  const char *claim, *asked;
};
constexpr AtOneTexts kAtOne[] = {
    {Form::Faster, Relation::Greater, "{0} is faster than {1}", "faster"},
    {Form::Faster, Relation::GreaterEqual, "{0} is at least as fast as {1}", "at least as fast"},
    {Form::Faster, Relation::Less, "{0} is slower than {1}", "slower"},
    {Form::Faster, Relation::LessEqual, "{0} is not faster than {1}", "not faster"},
    {Form::Takes, Relation::Greater, "{0} is slower than {1}", "slower"},
    {Form::Takes, Relation::GreaterEqual, "{0} is not faster than {1}", "not faster"},
    {Form::Takes, Relation::Less, "{0} is faster than {1}", "faster"},
    {Form::Takes, Relation::LessEqual, "{0} is at least as fast as {1}", "at least as fast"},
    {Form::Times, Relation::Greater, "{0} has a larger {2} than {1}", "larger"},
    {Form::Times, Relation::GreaterEqual, "{0} has at least the {2} of {1}", "at least as large"},
    {Form::Times, Relation::Less, "{0} has a smaller {2} than {1}", "smaller"},
    {Form::Times, Relation::LessEqual, "{0} has at most the {2} of {1}", "at most as large"}};

/// The words for a difference by the sign of its bound: below, at and above zero. 0: the bound without its sign.
struct DifferenceTexts {
  Relation relation;
  const char* texts[3];
};
constexpr DifferenceTexts kDifferences[] = {
    {Relation::GreaterEqual, {"at most {} lower", "not lower", "at least {} higher"}},
    {Relation::Greater, {"less than {} lower", "higher", "more than {} higher"}},
    {Relation::LessEqual, {"at least {} lower", "not higher", "at most {} higher"}},
    {Relation::Less, {"more than {} lower", "lower", "less than {} higher"}},
    {Relation::Equal, {"exactly {} lower", "the same", "exactly {} higher"}}};

/// Removes the "x" behind numbers, for sentences that say "times": "1.2x" is "1.2".
std::string plainNumbers(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != 'x' || i == 0 || !llvm::isDigit(text[i - 1])) out += text[i];
  return out;
}

/// Whether a level is clear without its factor: a word, and neither a number nor true or false.
bool isWord(const std::string& label) {
  return !label.empty() && (llvm::isAlpha(label[0]) || label[0] == '.' || label[0] == '/') && label != "true" &&
         label != "false";
}

/// One claim as sentences.
class Clause {
 public:
  Clause(const Findings& findings, const Judged& of)
      : findings_(findings), of_(of), told_(tellingOf(of)), form_(formOf()) {
    // A claim that holds is about all of its cells; one that some cell decides is about that cell.
    for (size_t i = 0; i < criterion().cells.size(); ++i) all_.push_back(&criterion().cells[i]);
    if (told_) one_ = &criterion().cells[of_.result.cells[told_->cell].cell];
  }

  /// Returns what the claim says: "fp32 is at least 1.2 times as fast as fp64 in both configurations".
  std::string claim() const {
    if (form_ == Form::Memory && of_.result.verdict == Verdict::Pass) {
      const std::string scope = scopeText();
      return whyText(of_) + (scope.empty() ? "" : " (" + scope.substr(4) + ")");
    }
    // A ratio that is only held to 1 is worth more than that.
    if (isFound()) return foundOf(*one_) + scopeText();
    // Some of the cells make an exists hold, of which the surest is named.
    if (isExists() && one_ && of_.result.verdict == Verdict::Pass)
      return claimOf({one_}) + placeText() + scopeText() +
             (all_.size() > 1 ? fmt::format(" (one of {} is enough)", all_.size()) : "");
    return claimOf(all_) + scopeText() + quantifier(isExists());
  }

  /// Returns what was found instead, for a claim that does not hold: "slower is 1.03 times as fast as old (claimed: at
  /// least 1.2)".
  std::string finding() const {
    if (form_ == Form::Memory) {
      const std::string why = whyText(of_);
      return why.starts_with("fails") ? "the claim " + why : why;
    }
    // The size of a value that is worse than every other says nothing.
    const bool sized = told_ && one_ && !told_->shown.empty() && (told_->value || !of_.result.cells[told_->cell].worst);
    if (!sized || of_.result.verdict != Verdict::Fail)
      return "it does not hold that " + claimOf(all_) + scopeText() + quantifier(false) + ": " + whyText(of_);
    if (!criterion().confidence && told_->values > 0 && form_ != Form::Agrees)
      return fmt::format("{}{} is {} in {} of {}", subject(), scopeText(), violation(bound(), dimension()),
                         told_->broken, counted(told_->values, runOf(*one_)));
    const size_t failing = std::ranges::count(of_.result.cells, Verdict::Fail, &CellEstimate::verdict);
    std::string text = foundOf(*one_) + placeText() + scopeText();
    text += form_ == Form::Agrees ? " (published: " + endText(bound(), dimension()) + ")"
                                  : fmt::format(" (claimed: {})", isAtOne() ? atOne().asked : boundOf(*one_));
    if (all_.size() > 1)
      text += isExists() ? fmt::format(", the closest of {} configurations", all_.size())
                         : "; the claim fails" + inConfigurations(failing, all_.size());
    return text;
  }

  /// Returns the numbers of the finding: "Closest to the bound at gpus=2: 1.74x (95 % interval 1.36x to 2.62x, 7 pairs,
  /// step_time 26.8 ms → 14.6 ms)"; "" if the reason has been said.
  std::string evidence(bool brief) const {
    // The finding has said the reason.
    if (of_.result.verdict == Verdict::Infeasible) return "";
    if (of_.result.verdict == Verdict::Fail && (!told_ || told_->shown.empty() || form_ == Form::Memory)) return "";
    if (form_ == Form::Memory && of_.result.verdict == Verdict::Pass) return "";
    if (!told_ || told_->shown.empty() || form_ == Form::Memory) return openSentence(of_);
    const bool single = told_->value.has_value();
    const std::string details = joined(numbers(brief));
    // If there are several arms, the sentence before names them together.
    const std::string place = placeText(/*arms_named=*/false);
    if (isFound() || (of_.result.verdict == Verdict::Fail && !single)) return sentence(details);
    if (of_.result.verdict == Verdict::Fail || of_.result.verdict == Verdict::Pass) {
      StringRef what = "Estimate";
      if (all_.size() > 1 || single) {
        const CellChoice choice(of_.plan, criterion(), of_.result.cells);
        what = choice.forall() ? choice.extremeOf(told_->cell, of_.result.verdict == Verdict::Fail) : "Best";
        what.consume_back(":");
      }
      return sentence(fmt::format("{}{}: {}{}", what, place, shownText(), framed(" (", details, ")")));
    }
    const CellEstimate& cell = of_.result.cells[told_->cell];
    // Other reasons than an interval around the bound are told by the line of the verdict.
    if (!criterion().confidence || !cell.interval || cell.uncorrected || cell.unusable ||
        cell.verdict != Verdict::Inconclusive)
      return openSentence(of_);
    return sentence(
        fmt::format("{}{} ({}) includes the bound {}", shownText(), place, details, endText(bound(), dimension())));
  }

 private:
  const Criterion& criterion() const { return of_.criterion; }
  /// The dimension of the values that are held against the bound.
  std::string_view dimension() const {
    const plan::Cell* cell = one_ ? one_ : all_.empty() ? nullptr : all_[0];
    return cell ? judge::dimensionOf(of_.plan, *cell) : "";
  }
  const plan::Bound& bound() const { return one_ ? plan::boundOf(criterion(), *one_) : criterion().bound; }

  /// The metric that a term is, or null.
  static const MetricTerm* readBy(const plan::Term& term) { return term.as<MetricTerm>(); }

  Form formOf() const {
    if (criterion().infeasible) return Form::Memory;
    if (criterion().cells.empty() || !criterion().cells[0].term) return Form::Other;
    const plan::Cell& cell = criterion().cells[0];
    if (cell.bound) return Form::Agrees;
    const plan::Term& term = *cell.term;
    if (term.as<plan::GapTerm>()) return Form::Curves;
    if (term.as<plan::FirstTerm>())
      return criterion().bound.relation == Relation::LessEqual ? Form::Reaches : Form::Other;
    if (const MetricTerm* read = readBy(term)) {
      const Metric* metric = of_.plan.findMetric(read->metric);
      return criterion().confidence && !(metric && metric->exact) ? Form::Level : Form::EveryRun;
    }
    if (term.as<plan::ScaleTerm>() && criterion().unit == "x" && cell.points.size() == 2) return Form::Scaling;
    const auto* operation = term.as<plan::OperationTerm>();
    if (!operation || operation->operands.size() != 2 || cell.points.size() != 2) return Form::Other;
    const MetricTerm *left = readBy(*operation->operands[0]), *right = readBy(*operation->operands[1]);
    if (!left || !right || left->metric != right->metric) return Form::Other;
    using Op = plan::OperationTerm::Op;
    if (operation->op == Op::Difference)
      return criterion().bound.relation == Relation::Within ? Form::Other : Form::Differs;
    if (operation->op != Op::Ratio) return Form::Other;
    const Metric* metric = of_.plan.findMetric(left->metric);
    const bool time = metric && metric->dimension == "time" && metric->better == plan::Direction::Lower;
    if (!time) return Form::Times;
    return left->place == cell.points[0] ? Form::Takes : Form::Faster;
  }

  /// Whether the ratio is the baseline's value over that of the treated level: of a metric other than time the sentence
  /// then has them the other way round.
  bool isTurned(const plan::Cell& cell) const {
    const auto* operation = cell.term->as<plan::OperationTerm>();
    return form_ == Form::Times && operation && readBy(*operation->operands[0])->place != cell.points[0];
  }

  bool isRatio() const { return form_ <= Form::Times; }
  bool isExists() const { return criterion().claim.kind == plan::Claim::Kind::Exists; }
  bool isAtOne() const {
    return isRatio() && criterion().bound.low == 1 && criterion().bound.relation < Relation::Equal;
  }

  const AtOneTexts& atOne() const {
    return *std::ranges::find_if(
        kAtOne, [&](const AtOneTexts& one) { return one.form == form_ && one.relation == criterion().bound.relation; });
  }

  /// Names the levels in which the two points of a cell differ: "fp32", "gpus=2", and those of the baseline.
  std::string armOf(const plan::Cell& cell, size_t point) const {
    const Point* own = of_.plan.findPoint(cell.points[point].point);
    const Point* other = of_.plan.findPoint(cell.points[1 - point].point);
    std::string text;
    for (size_t i = 0; own && other && i < of_.plan.factors.size(); ++i) {
      if (i >= own->levels.size() || own->levels[i] == other->levels[i]) continue;
      const std::string label = of_.plan.levelLabel(*own, i);
      if (isWord(label))
        text += (text.empty() ? "" : " ") + label;
      else
        plan::addLabel(text, of_.plan.factors[i].name, label);
    }
    return text.empty() ? "the point" : text;
  }

  /// Names an arm of all cells: "fp32", "each of fp32 and bf16", "every other level of precision".
  std::string armsOf(const std::vector<const plan::Cell*>& cells, size_t point) const {
    constexpr size_t kNamed = 3;
    InOrder<std::string, bool> names;
    for (const plan::Cell* cell : cells)
      if (cell->points.size() == 2) names[armOf(*cell, point)] = true;
    std::vector<std::string> all = textsOf(names, [](const auto& one) { return one.first; });
    if (all.empty()) return "it";
    if (all.size() == 1) return all[0];
    if (all.size() <= kNamed) return (isExists() ? "one of " : "each of ") + listed(std::move(all));
    return fmt::format("{} of {} levels", isExists() ? "one" : "each", all.size());
  }

  /// Returns what the claim is about: its metric, or the expression in its text.
  std::string subject() const {
    const plan::Term* term = criterion().cells.empty() ? nullptr : criterion().cells[0].term.get();
    if (term && form_ != Form::Other && form_ != Form::Agrees && form_ != Form::Scaling) {
      if (const auto* first = term->as<plan::FirstTerm>())
        return first->series.metric + " reaches " + endText(first->bound);
      if (const std::vector<MetricTerm> read = plan::metricTerms(*term); !read.empty()) return read[0].metric;
    }
    const std::string assertion = assertionText(criterion());
    StringRef text = assertion;
    for (const StringRef end : {StringRef(" like "), StringRef(criterion().bound.text)})
      if (!end.empty()) text = text.take_front(std::min(text.find(end), text.size()));
    const std::string found = text.trim().str();
    return found.empty() ? criterion().name : found;
  }

  /// Returns the bound that a sentence of the form has.
  std::string boundOf(const plan::Cell& cell) const {
    const plan::Bound& bound = plan::boundOf(criterion(), cell);
    switch (form_) {
      case Form::Agrees:
        return referenceOf(criterion());
      case Form::Differs: {
        const size_t sign = bound.low < 0 ? 0 : bound.low == 0 ? 1 : 2;
        for (const DifferenceTexts& one : kDifferences)
          if (one.relation == bound.relation)
            return fmt::format(fmt::runtime(one.texts[sign]), StringRef(endText(bound, dimension())).ltrim("-").str());
        return boundText(bound, dimension());
      }
      case Form::Reaches:
        return "within " + endText(bound) +
               (criterion().text.find("epochs_to") == std::string::npos ? " values" : " epochs");
      case Form::Faster:
      case Form::Takes:
      case Form::Times:
        return plainNumbers(boundText(bound));
      default:
        return boundText(bound, dimension());
    }
  }

  /// Returns the claim about some cells, without a quantifier.
  std::string claimOf(const std::vector<const plan::Cell*>& cells) const {
    if (cells.empty()) return subject() + " is " + boundText(criterion().bound);
    const size_t turned = isTurned(*cells[0]) ? 1 : 0;
    std::string treated = form_ == Form::Memory ? memoryPlaces(cells) : armsOf(cells, turned);
    const char* text = isAtOne() ? atOne().claim : rowOf(form_).claim;
    return fmt::format(fmt::runtime(text), treated, armsOf(cells, 1 - turned), metricText(), boundOf(*cells[0]), "");
  }

  /// Whether a claim that holds is said by what was found: a single ratio that is only held to 1.
  bool isFound() const {
    return of_.result.verdict == Verdict::Pass && isAtOne() && one_ && all_.size() == 1 && !told_->shown.empty();
  }

  /// Whether a ratio of times is below 1, so that its inverse is said.
  bool isInverted() const {
    const std::optional<double>& ratio = of_.result.cells[told_->cell].estimate;
    return form_ <= Form::Takes && ratio && *ratio > 0 && *ratio < 1;
  }

  /// Whether the sentence says the inverse of the ratio.
  bool isSaidInverse() const { return isInverted() && (of_.result.verdict == Verdict::Fail || isFound()); }

  /// Returns what was found in one cell. The ratio of two times is said so that it is above 1, of a claim that holds
  /// with the faster level first.
  std::string foundOf(const plan::Cell& cell) const {
    const CellEstimate& estimate = of_.result.cells[told_->cell];
    size_t turned = isTurned(cell) ? 1 : 0;
    Form form = form_;
    std::string found = plainNumbers(told_->shown);
    if (isInverted()) {
      form = form == Form::Faster ? Form::Takes : Form::Faster;
      found = plainNumbers(formatQuantity(1 / *estimate.estimate, "x"));
    } else if (form == Form::Differs && estimate.estimate) {
      found = *estimate.estimate < 0 ? StringRef(told_->shown).ltrim("-").str() + " lower" : told_->shown + " higher";
    } else if (!isRatio()) {
      found = told_->shown;
    }
    if (estimate.estimate && std::isinf(*estimate.estimate)) return armOf(cell, 0) + " counts as " + told_->shown;
    if (form == Form::Takes && isFound()) form = Form::Faster, turned = 1 - turned;
    const bool pair = plan::isPaired(cell) && cell.points.size() == 2;
    return fmt::format(fmt::runtime(rowOf(form).found), pair ? armOf(cell, turned) : "",
                       pair ? armOf(cell, 1 - turned) : "", metricText(), "", found);
  }

  static const FormTexts& rowOf(Form form) { return *std::ranges::find(kForms, form, &FormTexts::form); }
  /// Returns the metric as the form's sentence has it: "as long as" for the whole time of a program.
  std::string metricText() const {
    const std::string metric = subject();
    if (form_ > Form::Takes) return metric;
    return metric == "wall" ? "as long as" : "the " + metric + " of";
  }

  std::string memoryPlaces(const std::vector<const plan::Cell*>& cells) const {
    if (cells.size() != 1) return fmt::format("each of {} configurations", cells.size());
    const Point* point = of_.plan.findPoint(cells[0]->points[0].point);
    return judge::placeLabel(of_.plan, point);
  }

  /// Returns " in both configurations", " in every run"; "" for a single cell.
  std::string quantifier(bool exists) const {
    if (form_ == Form::Memory) return "";
    if (!criterion().confidence && !all_.empty()) return fmt::format(" in every {}", runOf(*all_[0]));
    std::set<std::string> named;
    if (form_ <= Form::Curves)
      for (const plan::Cell* cell : all_)
        if (cell->points.size() == 2) named.insert(armOf(*cell, 0));
    const size_t count = all_.size() / std::max<size_t>(named.size(), 1);
    if (count < 2) return "";
    if (exists) return fmt::format(" in one of {} configurations", count);
    return inConfigurations(count, count);
  }

  /// Returns " at gpus=2" for the telling cell: the factors that vary between cells, but those by which its arm is
  /// named only where the sentence does not name it.
  std::string placeText(bool arms_named = true) const {
    if (!one_ || all_.size() < 2) return "";
    const std::vector<std::string> labels = of_.plan.levelLabels(criterion().factors, *one_);
    const std::string arm =
        one_->points.size() == 2 && form_ != Form::Other && form_ != Form::Agrees ? armOf(*one_, 0) : "";
    std::string text;
    for (size_t i = 0; i < labels.size(); ++i) {
      const auto same = [&](const plan::Cell* cell) { return cell->levels[i] == one_->levels[i]; };
      const std::string label = criterion().factors[i] + "=" + labels[i];
      // An arm of several factors names each of them.
      if (std::ranges::all_of(all_, same) || (arms_named && (arm == labels[i] || arm == label))) continue;
      plan::addLabel(text, criterion().factors[i], labels[i]);
    }
    return framed(" at ", text);
  }

  /// Returns the telling value with as many digits as its interval has.
  std::string shownText() const {
    const CellEstimate& cell = of_.result.cells[told_->cell];
    if (told_->value || !cell.interval || !cell.estimate || cell.constant) return told_->shown;
    return formatParts(*cell.estimate, *cell.interval, criterion().unit, dimension(), boundsOf(bound())).estimate;
  }

  /// Returns " at program=a" for the factors of which the claim is about some levels only, by a selector or `where`; ""
  /// if it is about all of them. Factors that the arms name, and those in the text of the subject, are left out.
  std::string scopeText() const {
    std::string text;
    for (size_t i = 0; i < criterion().factors.size() && !all_.empty(); ++i) {
      const int found = base::findNamed(of_.plan.factors, criterion().factors[i]);
      if (found < 0) continue;
      const size_t of = found;
      const plan::Factor& factor = of_.plan.factors[of];
      std::set<unsigned> used;
      bool compared = false;
      for (const plan::Cell* cell : all_) {
        if (cell->points.empty() || i >= cell->levels.size()) continue;
        if (cell->levels[i] < factor.levels.size()) used.insert(cell->levels[i]);
        const Point* arms[] = {of_.plan.findPoint(cell->points.front().point),
                               of_.plan.findPoint(cell->points.back().point)};
        compared =
            compared || (plan::isPaired(*cell) && arms[0] && arms[1] && arms[0]->levels[of] != arms[1]->levels[of]);
      }
      if (compared || used.empty() || used.size() == factor.levels.size()) continue;
      if (used.size() == 1 && form_ == Form::Other && subject().find('[') != std::string::npos) continue;
      const auto labelOf = [&](unsigned level) { return factor.levels[level].label; };
      plan::addLabel(text, factor.name, listed(textsOf(used, labelOf)));
    }
    return framed(" at ", text);
  }

  /// Returns the interval, the number of values, and the medians of the two arms.
  std::vector<std::string> numbers(bool brief) const {
    const CellEstimate& cell = of_.result.cells[told_->cell];
    std::vector<std::string> texts;
    if (told_->value)
      texts.push_back(counted(told_->values, runOf(*one_)) + (all_.size() > 1 ? " in all" : ""));
    else if (cell.constant)
      texts.push_back("the same in every run");
    if (told_->value || cell.constant) return texts;
    // An interval that is infinite on both sides was said: the value diverged, or timed out.
    if (cell.interval && std::isinf(cell.interval->low) && std::isinf(cell.interval->high)) return texts;
    if (cell.interval && cell.estimate) {
      // The interval of a ratio that is said the other way round is turned, too.
      const bool inverse = isSaidInverse();
      stats::Interval shown = *cell.interval;
      if (inverse) shown.low = 1 / cell.interval->high, shown.high = 1 / cell.interval->low;
      const Bounds near = inverse ? Bounds() : boundsOf(bound());
      const double estimate = inverse ? 1 / *cell.estimate : *cell.estimate;
      texts.push_back(formatConfidence(cell.confidence) + " interval " +
                      fromTo(formatParts(estimate, shown, criterion().unit, dimension(), near).interval));
      if (!cell.looks.empty()) texts.back() += " " + looksText(cell);
    }
    texts.push_back(counted(cell.scope.complete, runOf(*one_)));
    for (std::string medians : {brief ? "" : mediansText(), deviceTimeText()})
      if (!medians.empty()) texts.push_back(std::move(medians));
    return texts;
  }

  /// Returns "step_time 26.8 ms → 14.6 ms": from the baseline to the treated level. Where their quotient is not what
  /// the pairs give, the text says so.
  std::string mediansText() const {
    constexpr double kAlike = 0.01;
    const auto arms = armsValues();
    if (!arms || form_ == Form::Differs) return "";
    const Metric& metric = *of_.plan.findMetric(subject());
    const std::string text = metric.name + " " + changeText(*arms, metric.unit, metric.dimension);
    const std::optional<double>& estimate = of_.result.cells[told_->cell].estimate;
    const auto* ratio = one_->term->as<plan::OperationTerm>();
    const bool treated_first = readBy(*ratio->operands[0])->place == one_->points[0];
    const double quotient = treated_first ? arms->second / arms->first : arms->first / arms->second;
    if (!estimate || !std::isfinite(quotient) || std::abs(quotient - *estimate) <= kAlike * std::abs(*estimate))
      return text;
    const bool inverse = isSaidInverse();
    return fmt::format("{} in medians, whose quotient of {} ignores pairs", text,
                       formatQuantity(inverse ? 1 / quotient : quotient, "x"));
  }

  /// Returns "GPU time 36.8 h → 20.4 h" for the time of a whole training or program on more than one GPU in one of the
  /// arms: a metric of steps or phases does not hold the devices for that time alone.
  std::string deviceTimeText() const {
    const std::string metric = subject();
    if (coresStandForGpus(of_.plan, findings_.results) || (metric != "total_time" && metric != "wall")) return "";
    const auto arms = armsValues();
    const Point* points[] = {of_.plan.findPoint(one_->points.back().point),
                             of_.plan.findPoint(one_->points.front().point)};
    if (!arms || !points[0] || !points[1] || !points[0]->parameters.get("gpus")) return "";
    const unsigned devices[] = {plan::devicesOf(*points[0]), plan::devicesOf(*points[1])};
    if (devices[0] < 2 && devices[1] < 2) return "";
    return "GPU time " + changeText({arms->first * devices[0], arms->second * devices[1]}, "s", "time");
  }

  /// Returns the medians of the baseline and of the treated level, for a comparison of one metric.
  std::optional<std::pair<double, double>> armsValues() const {
    if (!isRatio() && form_ != Form::Differs) return std::nullopt;
    const std::string name = subject();
    const judge::Summary* arms[] = {findings_.judgement.find(one_->points[1].point, name),
                                    findings_.judgement.find(one_->points[0].point, name)};
    if (!of_.plan.findMetric(name) || !arms[0] || !arms[1] || !arms[0]->median || !arms[1]->median) return std::nullopt;
    return std::pair(*arms[0]->median, *arms[1]->median);
  }

  static std::string changeText(std::pair<double, double> arms, const std::string& unit, const std::string& dimension) {
    const double larger = std::max(std::abs(arms.first), std::abs(arms.second));
    return formatAgainst(arms.first, {}, unit, dimension, larger) + " → " +
           formatAgainst(arms.second, {}, unit, dimension, larger);
  }

  const Findings& findings_;
  const Judged of_;
  const std::optional<Telling> told_;
  std::vector<const plan::Cell*> all_;
  const plan::Cell* one_ = nullptr;  // the telling one
  const Form form_;
};

}  // namespace

std::string claimSentence(const Findings& findings, const Judged& of) { return Clause(findings, of).claim(); }

std::string findingSentence(const Findings& findings, const Judged& of) { return Clause(findings, of).finding(); }

std::string evidenceSentence(const Findings& findings, const Judged& of, bool brief) {
  return Clause(findings, of).evidence(brief);
}

}  // namespace expc::report
