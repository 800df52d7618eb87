// Expectations that the author states before the run: `expected gain = 1.5x  noise 8%`. The statement names a
// criterion, or a comparison or metric and with it all criteria about that; `diagnose` assumes the values, and the lock
// holds them.

#include "compiler/check/assertion.h"
#include "compiler/check/named.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(NothingExpected, "the criterion '{0}' has no value that could be expected");

/// The measured metrics that a metric is computed from; the metric itself if it is measured.
void measured(const Study& study, unsigned metric, std::vector<std::string>& names) {
  const FormulaPtr& formula = study.metrics[metric].derived;
  if (!formula) return names.push_back(study.metrics[metric].name);
  for (const unsigned read : metricsOf(*formula)) measured(study, read, names);
}

/// The subject that all assertions of a criterion share, apart from those that memory runs out; nothing if there is
/// none.
std::optional<Subject> subjectOf(const Criterion& criterion) {
  std::optional<Subject> found;
  for (const Assertion& one : criterion.assertions) {
    if (one.seen()) continue;
    const Subject subject{*one.metric, one.comparison};
    if (found && (found->metric != subject.metric || found->comparison != subject.comparison)) return std::nullopt;
    found = subject;
  }
  return found;
}

/// Checks one statement; nothing after a report.
std::optional<Expectation> expectedOf(StudyContext& context, const ast::ExpectedDecl& declaration) {
  const Study& study = context.study;
  Expectation expected;
  expected.name = declaration.name.name;
  expected.text = context.written({declaration.range.file, declaration.value->range.begin, declaration.range.end});
  expected.range = declaration.name.range;
  std::optional<Subject> subject;
  if (const Criterion* criterion = named(study.criteria, expected.name)) {
    context.note(declaration.name, criterion->range);
    subject = subjectOf(*criterion);
    if (!subject)
      return context.emitter.emit(declaration.name.range, NothingExpected, criterion->name)
          .note(criterion->range, "{}",
                criterion->infeasible() ? "it claims that memory runs out"
                                        : "it joins claims about several values: name one of them");
    expected.criteria = {criterion->name};
  } else {
    subject = context.subject(declaration.name);
    if (!subject) return std::nullopt;
    for (const Criterion& one : study.criteria)
      if (const auto of = subjectOf(one); of && of->metric == subject->metric && of->comparison == subject->comparison)
        expected.criteria.push_back(one.name);
  }
  measured(study, subject->metric, expected.metrics);
  const Dimension& of = study.dimensionOf(subject->comparison, subject->metric);
  const std::string what = fmt::format("what is expected of '{}'", expected.name);
  const auto value = context.constant(*declaration.value, Type::number(of), what);
  if (!value) return std::nullopt;
  const Rational& number = *value->asNumber();
  expected.value = number.toDouble();
  const Bound stated{Relation::Equal, expected.value, expected.value, value->toString()};
  if (refuseUnreachable(context, *subject, stated, declaration.value->range, number, number)) return std::nullopt;
  if (!declaration.noise) return expected;
  const auto noise = properShare(context, *declaration.noise, "'noise'");
  if (!noise) return std::nullopt;
  expected.noise = noise->toDouble();
  return expected;
}

}  // namespace

void checkExpected(StudyContext& context) {
  Once names;
  for (const ast::ExpectedDecl& declaration : context.declaration->expected)
    if (names.add(context.emitter, "value expected of", declaration.name))
      if (auto expected = expectedOf(context, declaration)) context.study.expected.push_back(std::move(*expected));
  // A value for one criterion comes before one for its subject, whichever stands first.
  std::ranges::stable_partition(context.study.expected, [&](const Expectation& one) {
    return named(context.study.criteria, one.name) != nullptr;
  });
}

}  // namespace expc::check
