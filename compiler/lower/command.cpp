#include "compiler/lower/command.h"

#include "compiler/survey/terms.h"

namespace expc::lower {
namespace {

/// The enumerators stand in one order on both sides.
plan::CommandMetric readingOf(const std::string& name, const check::MetricSource& source, bool series) {
  using From = plan::CommandMetric::From;
  using Take = plan::CommandMetric::Take;
  static_assert(static_cast<int>(From::Same) == static_cast<int>(check::MetricSource::From::Same));
  static_assert(static_cast<int>(Take::Max) == static_cast<int>(check::MetricSource::Take::Max));
  plan::CommandMetric read{name,         static_cast<From>(source.from), source.file,
                           source.where, source.scale.toDouble(),        series};
  if (source.take) read.take = static_cast<Take>(*source.take);
  return read;
}

std::optional<double> seconds(const std::optional<check::Rational>& timeout) {
  return timeout ? std::optional(timeout->toDouble()) : std::nullopt;
}

}  // namespace

plan::Command commandOf(const check::Workload& workload) {
  const check::Command& declared = *workload.command;
  plan::Command command;
  command.arguments = check::argumentTexts(declared.program);
  command.timeout_seconds = seconds(declared.program.timeout);
  command.inputs = declared.inputs;
  command.copied = declared.copied;
  for (const check::Expectation& expectation : declared.expectations) {
    plan::Expectation expected{readingOf(expectation.text, expectation.source, false), {}};
    if (expectation.bound) expected.bound = toPlan(*expectation.bound);
    command.expectations.push_back(std::move(expected));
  }
  if (const auto& preparation = declared.preparation)
    command.preparation = plan::Preparation{check::argumentTexts(*preparation), seconds(preparation->timeout)};
  if (declared.before) command.before = check::argumentTexts(*declared.before);
  command.exit_codes.assign(declared.exit_codes.begin(), declared.exit_codes.end());
  for (const check::Metric& metric : workload.metrics)
    if (metric.source) command.metrics.push_back(readingOf(metric.name, *metric.source, metric.series));
  return command;
}

}  // namespace expc::lower
