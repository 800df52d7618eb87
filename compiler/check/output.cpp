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
  if (std::find(study.measured.begin(), study.measured.end(), metric) == study.measured.end())
    study.measured.push_back(metric);
}

bool checkSubject(StudyContext& context, const ast::Identifier& word) {
  const auto subject = context.subject(word);
  if (!subject || subject->comparison) return subject.has_value();
  const Metric& metric = context.study.metrics[subject->metric];
  if (metric.series) errors::seriesValue(context.emitter(), word.range, word.name, metric.range);
  return !metric.series;
}

bool outputFactors(StudyContext& context, const std::vector<ast::Identifier>& names, std::vector<unsigned>& factors) {
  bool good = true;
  Once seen;
  for (const ast::Identifier& name : names) {
    const int index = context.factor(name);
    good &= seen.add(context.emitter(), "factor", name) && index >= 0;
    if (index >= 0) factors.push_back(static_cast<unsigned>(index));
  }
  return good;
}

}  // namespace

void checkOutputs(StudyContext& context) {
  for (const ast::TableDecl& table : context.declaration->tables) {
    Output output{false, table.metric.name, std::nullopt, {}};
    bool good = checkSubject(context, table.metric);
    if (outputFactors(context, table.by, output.by) && good) context.study.outputs.push_back(std::move(output));
  }
  for (const ast::PlotDecl& plot : context.declaration->plots) {
    Output output{true, plot.subject.name, std::nullopt, {}};
    bool good = checkSubject(context, plot.subject);
    std::vector<ast::Identifier> names = {plot.over};
    names.insert(names.end(), plot.by.begin(), plot.by.end());
    if (!outputFactors(context, names, output.by) || !good) continue;
    output.over = output.by.front();
    output.by.erase(output.by.begin());
    context.study.outputs.push_back(std::move(output));
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
        context.emitter().build(name.range, MeasuredTwice, name.name).note(at->second, "the first time is here").emit();
      measure(study, static_cast<unsigned>(metric));
    }
  for (const Comparison& comparison : study.comparisons) measure(study, comparison.metric);
  for (const Output& output : study.outputs)
    if (int metric = study.findMetric(output.subject); metric >= 0) measure(study, static_cast<unsigned>(metric));
  bool nothing = study.measured.empty() && study.criteria.empty() && context.declaration->criteria.empty();
  if (nothing && context.context.problems() == before)
    context.emitter()
        .build(study.range, NothingMeasured, study.name)
        .note({}, "write 'measure' and what {} yields, such as '{}'", study.workload->name,
              study.metrics.empty() ? "step_time" : study.metrics[0].name)
        .emit();
}

}  // namespace expc::check
