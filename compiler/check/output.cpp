// What a study measures and shows.

#include <algorithm>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(NothingMeasured, Error, "the study '{0}' measures nothing", std::string_view);
EXPC_DIAGNOSTIC(MeasuredTwice, Warning, "'{0}' is measured twice", std::string_view);

/// Appends a metric unless it is there.
void measure(Study& study, unsigned metric) {
  if (std::ranges::count(study.measured, metric) == 0) study.measured.push_back(metric);
}

bool checkSubject(StudyContext& context, const ast::Identifier& word) {
  const auto subject = context.subject(word);
  if (!subject || subject->comparison) return subject.has_value();
  const Metric& metric = context.study.metrics[subject->metric];
  if (metric.series) errors::seriesValue(context.emitter, word.range, word.name, metric.range);
  return !metric.series;
}

/// A table, or a plot over the first of the factors.
void addOutput(StudyContext& context, const ast::Identifier& subject, const std::vector<ast::Identifier>& names,
               bool plot) {
  Output output{plot, subject.name, std::nullopt, {}};
  bool good = checkSubject(context, subject);
  Once seen;
  for (const ast::Identifier& name : names) {
    const int index = context.factor(name);
    good &= seen.add(context.emitter, "factor", name) && index >= 0;
    if (index >= 0) output.by.push_back(static_cast<unsigned>(index));
  }
  if (!good) return;
  if (plot) {
    output.over = output.by.front();
    output.by.erase(output.by.begin());
  }
  context.study.outputs.push_back(std::move(output));
}

}  // namespace

void checkOutputs(StudyContext& context) {
  for (const ast::TableDecl& table : context.declaration->tables) addOutput(context, table.metric, table.by, false);
  for (const ast::PlotDecl& plot : context.declaration->plots) {
    std::vector<ast::Identifier> names = {plot.over};
    names.insert(names.end(), plot.by.begin(), plot.by.end());
    addOutput(context, plot.subject, names, true);
  }
}

void checkMeasures(StudyContext& context) {
  Study& study = context.study;
  NameMap<source::Range> seen;
  const size_t before = context.context.problems();
  for (const ast::MeasureDecl& declaration : context.declaration->measures)
    for (const ast::Identifier& name : declaration.metrics) {
      int metric = study.findMetric(name.name);
      if (metric < 0) {
        context.unknownSubject(name, "metric");
        continue;
      }
      context.note(name, study.metrics[metric].range);
      if (auto [at, fresh] = seen.emplace(name.name, name.range); !fresh)
        context.emitter.build(name.range, MeasuredTwice, name.name).note(at->second, "the first time is here").emit();
      measure(study, static_cast<unsigned>(metric));
    }
  for (const Comparison& comparison : study.comparisons) measure(study, comparison.metric);
  for (const Output& output : study.outputs)
    if (int metric = study.findMetric(output.subject); metric >= 0) measure(study, static_cast<unsigned>(metric));
  bool nothing = study.measured.empty() && study.criteria.empty() && context.declaration->criteria.empty();
  if (nothing && context.context.problems() == before)
    context.emitter.build(study.range, NothingMeasured, study.name)
        .note({}, "write 'measure' and what {} yields, such as '{}'", study.workload->name,
              study.metrics.empty() ? "step_time" : study.metrics[0].name)
        .emit();
}

}  // namespace expc::check
