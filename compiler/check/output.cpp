// The metrics that a study measures, and the tables and plots that it shows. Whatever is shown is measured too.

#include "compiler/check/checker.h"
#include "compiler/check/named.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(NothingMeasured, "the study '{0}' measures nothing");
EXPC_DIAGNOSTIC(MeasuredTwice, "'{0}' is measured twice");

/// Whether a name can be shown as one value a cell: a comparison, or a metric that is not a series.
bool checkSubject(StudyContext& context, const ast::Identifier& word) {
  const auto subject = context.subject(word);
  if (!subject || subject->comparison) return subject.has_value();
  const Metric& metric = context.study.metrics[subject->metric];
  if (metric.distribution) return seriesValue(context.emitter, word.range, metric);
  if (metric.series)
    context.emitter.emit(word.range, SeriesValue, word.name, "series")
        .note(
            metric.range,
            "draw all of it with 'plot {0} over epoch', or take one value with 'epochs_to({0} >= …)' or 'median({0})'",
            word.name);
  return !metric.series;
}

/// Whether the values of a subject have a level of the factor; reports otherwise.
bool has(StudyContext& context, const ast::Identifier& subject, unsigned factor, source::Range range) {
  const int index = context.study.findComparison(subject.name);
  const Comparison* comparison = index < 0 ? nullptr : &context.study.comparisons[index];
  return !comparison || !comparison->lacks(factor) || goneFactor(context, *comparison, factor, range);
}

/// Adds the names of `by` as factors of a subject; false after a report. `seen` finds repetitions.
bool addFactors(StudyContext& context, const ast::Identifier& subject, const std::vector<ast::Identifier>& names,
                std::vector<std::string>& by, Once& seen) {
  bool good = true;
  for (const ast::Identifier& name : names) {
    const auto factor = context.factor(name);
    // A part of a lockstep factor stands for the factor.
    const std::string& whole = factor ? context.study.factors[*factor].name : name.name;
    // Add the name even if it is unknown, so that a repetition is reported too.
    good &=
        seen.add(context.emitter, "factor", whole, name.range) && factor && has(context, subject, *factor, name.range);
    if (factor) by.push_back(whole);
  }
  return good;
}

/// Checks a metric of a description. If the description puts it in order (`ordered`), it must have a direction.
bool checkDescribed(StudyContext& context, const ast::Identifier& word, bool ordered) {
  const int index = context.study.findMetric(word.name);
  if (index < 0) return context.unknownSubject(word, "metric");
  const Metric& metric = context.study.metrics[index];
  context.note(word, metric.range);
  if (metric.series) return seriesValue(context.emitter, word.range, metric);
  if (!ordered || metric.better) return true;
  return context.emitter.emit(word.range, NoDirection, metric.name)
      .note(metric.range, "write 'lower' or 'higher' after it");
}

/// Checks `table effects of step_time` and its like.
void addDescription(StudyContext& context, const ast::TableDecl& table) {
  using Shows = plan::Table::Shows;
  const Shows shows = base::valueOf(plan::words::kShows, table.subject.name).value_or(Shows::Values);
  if (shows == Shows::Values)  // which no description is called
    return void(unknownName(context.emitter, "description", table.subject, words::texts(words::Role::Description)));
  const size_t wanted = shows == Shows::Front ? 2 : 1;
  if (table.of.size() != wanted)
    return void(context.emitter.emit(table.of.back().range, WrongArguments, table.subject.name,
                                     wanted == 1 ? "one metric" : "two metrics", std::to_string(table.of.size())));
  bool good = true;
  for (const ast::Identifier& word : table.of) good &= checkDescribed(context, word, shows != Shows::Effects);
  if (good) context.study.tables.push_back({table.of[0].name, {}, shows, wanted == 2 ? table.of[1].name : ""});
}

/// Checks a table and adds it.
void addTable(StudyContext& context, const ast::TableDecl& table) {
  if (!table.of.empty()) return addDescription(context, table);
  plan::Table shown{table.subject.name, {}};
  Once seen;
  const bool good = checkSubject(context, table.subject);
  if (addFactors(context, table.subject, table.by, shown.by, seen) && good)
    context.study.tables.push_back(std::move(shown));
}

/// Checks a plot over the axis of a series, over another metric, or over a factor.
struct PlotChecker {
  StudyContext& context;
  const ast::PlotDecl& plot;
  plan::Plot shown = {plot.subject.name, plot.over.name, {}};
  Once seen = {};

  void run() {
    const bool good = over();
    if (addFactors(context, plot.subject, plot.by, shown.by, seen) && good)
      context.study.plots.push_back(std::move(shown));
  }

  /// Decides by the word after `over`, and by whether the subject is a series, which kind of plot it is.
  bool over() {
    const ast::Identifier& word = plot.over;
    const int subject = context.study.findMetric(plot.subject.name);
    const bool places = words::find(words::Role::Axis, word.name) != nullptr;
    // A factor called `epoch` wins over the axis.
    if (context.study.findFactor(word.name) < 0 && subject >= 0 && context.study.metrics[subject].series) {
      context.note(plot.subject, context.study.metrics[subject].range);
      return overPlaces(places);
    }
    // Look up the word after `over` all the same, for its own mistake.
    if (!checkSubject(context, plot.subject)) {
      seen.add(context.emitter, "factor", word);
      return context.factor(word), false;
    }
    if (const int metric = context.study.findMetric(word.name); metric >= 0 && subject >= 0)
      return overMetric(context.study.metrics[metric]);
    if (places && context.study.findFactor(word.name) < 0) return noSeries(subject);
    const auto factor = context.factor(word);
    if (factor) shown.over = context.study.factors[*factor].name;
    return seen.add(context.emitter, "factor", shown.over, word.range) && factor &&
           has(context, plot.subject, *factor, word.range);
  }

  /// A plot of a series over `epoch` or `step`, or of a distribution over `percentile`.
  bool overPlaces(bool places) {
    const Metric& metric = context.study.metrics[context.study.findMetric(plot.subject.name)];
    if (places && metric.distribution != (plot.over.name == "percentile"))
      return context.emitter
          .emit(plot.over.range, TypeMismatch, fmt::format("the axis of '{}'", metric.name),
                metric.distribution ? "'percentile', since a distribution has no order" : "'epoch' or 'step'",
                fmt::format("'{}'", plot.over.name))
          .note(metric.range, "it is a {}", metric.distribution ? "distribution" : "series");
    if (!places) unknownName(context.emitter, "axis of a series", plot.over, words::texts(words::Role::Axis));
    return places;
  }

  /// A plot of one metric over another.
  bool overMetric(const Metric& metric) {
    context.note(plot.over, metric.range);
    if (metric.series) seriesValue(context.emitter, plot.over.range, metric);
    return !metric.series;
  }

  /// Reports an axis of series for a subject that is none.
  bool noSeries(int subject) {
    auto builder = context.emitter.emit(plot.subject.range, NotASeries, plot.subject.name);
    if (subject >= 0)
      builder.note(context.study.metrics[subject].range, "it has one value per trial, not one per {}", plot.over.name);
    else
      builder.note("a comparison can be plotted only over a factor");
    return builder;
  }
};

}  // namespace

void checkOutputs(StudyContext& context) {
  for (const ast::TableDecl& table : context.declaration->tables) addTable(context, table);
  for (const ast::PlotDecl& plot : context.declaration->plots) PlotChecker{context, plot}.run();
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
      // Listing a metric twice is harmless, so a warning is enough.
      if (auto [at, fresh] = seen.emplace(name.name, name.range); !fresh)
        context.emitter.emit(name.range, MeasuredTwice, name.name).note(at->second, "first measured here");
      base::addOnce(study.measured, unsigned(metric));
    }
  // Whatever comparisons, tables and plots read is measured without being listed.
  for (const Comparison& comparison : study.comparisons) {
    if (comparison.ofProcess()) continue;  // whoever reads it says so
    base::addOnce(study.measured, comparison.metric);
    if (comparison.weight_metric) base::addOnce(study.measured, *comparison.weight_metric);
  }
  const auto shown = [&](const std::string& subject, const std::string& other) {
    const int metric = study.findMetric(subject), second = study.findMetric(other);
    if (metric >= 0) base::addOnce(study.measured, unsigned(metric));
    if (metric >= 0 && second >= 0) base::addOnce(study.measured, unsigned(second));
  };
  for (const plan::Table& table : study.tables) shown(table.subject, table.other);
  for (const plan::Plot& plot : study.plots) shown(plot.subject, plot.over);
  // Criteria add to what is measured later (measuredWith), and refused ones would have.
  bool nothing = study.measured.empty() && study.criteria.empty() && context.declaration->criteria.empty();
  if (nothing && context.context.problems() == before)
    context.emitter.emit(study.range, NothingMeasured, study.name)
        .note("write 'measure' and what {} yields, such as '{}'", study.workload->name,
              study.metrics.empty() ? "step_time" : study.metrics[0].name);
}

}  // namespace expc::check
