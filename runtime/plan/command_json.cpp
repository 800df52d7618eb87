#include "runtime/plan/described.h"
#include "runtime/plan/plan_words.h"

namespace expc::plan {
namespace {

using From = CommandMetric::From;

void describe(JsonRecord& io, CommandMetric& metric) {
  io.field("name", metric.name);
  io.word("from", metric.from, words::kFrom);
  io.field("file", metric.file);
  io.field("where", metric.where);
  io.field("scale", metric.scale);
  io.field("series", metric.series);
  if (io.has("take", metric.take.has_value())) {
    if (io.reads()) metric.take.emplace();
    io.word("take", *metric.take, words::kTake);
  }
  if (!io.reads()) return;
  if (metric.file.empty() && metric.from != From::Regex && metric.from != From::Lines)
    io.fail("file", "only a regex reads standard output, and lines");
  if (metric.take && metric.series) io.fail("take", "a series takes all");
}

void describe(JsonRecord& io, Preparation& preparation) {
  io.field("arguments", preparation.arguments);
  describeTimeout(io, preparation.timeout_seconds);
  if (io.reads() && preparation.arguments.empty()) io.fail("arguments", "a preparation needs a program to run");
}

}  // namespace

void describeTimeout(JsonRecord& io, std::optional<double>& seconds) {
  io.optional("timeout_seconds", seconds);
  if (io.reads() && seconds && *seconds <= 0) io.fail("timeout_seconds", "is not positive");
}

void describe(JsonRecord& io, Bound& bound) {
  io.word("relation", bound.relation, words::kRelation);
  io.field("low", bound.low);
  if (bound.relation == Relation::Within) io.field("high", bound.high);
  io.field("text", bound.text);
  if (io.reads() && bound.relation == Relation::Within && bound.low > bound.high)
    io.fail("high", "the band's upper end is below its lower end");
}

void describe(JsonRecord& io, Expectation& expectation) {
  describe(io, expectation.read);
  io.optionalObject("bound", expectation.bound, kDescribed);
  if (!io.reads()) return;
  const From from = expectation.read.from;
  if (!expectation.bound && from != From::Regex && from != From::Json && from != From::Same)
    io.fail("bound", "a number needs one");
  if (expectation.bound && from == From::Same) io.fail("bound", "whether two files are the same is no number");
}

void describe(JsonRecord& io, Command& command) {
  io.field("arguments", command.arguments);
  describeTimeout(io, command.timeout_seconds);
  io.field("inputs", command.inputs);
  io.optional("copied", command.copied);
  if (io.has("expectations", !command.expectations.empty())) io.list("expectations", command.expectations, kDescribed);
  io.optionalObject("preparation", command.preparation,
                    [](JsonRecord& inner, Preparation& preparation) { describe(inner, preparation); });
  io.optional("before", command.before);
  io.optional("exit_codes", command.exit_codes);
  std::vector<std::string> names;
  io.list("metrics", command.metrics, [&](JsonRecord& inner, CommandMetric& metric) {
    describe(inner, metric);
    if (!inner.reads()) return;
    if (metric.from == From::Same) inner.fail("whether two files are the same is no number");
    if (std::find(names.begin(), names.end(), metric.name) != names.end())
      inner.fail("'" + metric.name + "' is read twice");
    names.push_back(metric.name);
  });
  if (io.reads() && command.arguments.empty()) io.fail("arguments", "a command needs a program to run");
}

}  // namespace expc::plan
