// Exports for services that follow benchmarks from commit to commit (Bencher, github-action-benchmark, OpenMetrics):
// the median of each metric at each point, with the ends of its interval. These services keep numbers only, so values
// that are not finite are left out, and names must stay the same from run to run.

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/entry.h"
#include "runtime/base/format.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/export/formats.h"

namespace expc::exports {
namespace {

using json::Array;
using json::Object;

/// A finite median with its place. Refers to its source, which must outlive it.
struct Median {
  const Plan& plan;
  const Point& point;
  const Metric& metric;
  const judge::Summary& summary;

  /// Returns the benchmark's name: "STUDY FACTOR=LEVEL …", or the study's name for a point without factors.
  std::string benchmark() const {
    const std::string label = plan.label(point);
    return utf8(label.empty() ? plan.study : plan.study + " " + label);
  }
  static std::string utf8(const std::string& text) { return jsonText(text).getAsString()->str(); }
  /// Returns the interval if both ends are finite.
  std::optional<stats::Interval> interval() const {
    const auto& one = summary.interval;
    return one && std::isfinite(one->low) && std::isfinite(one->high) ? one : std::nullopt;
  }
};

/// Calls `take` for every finite median, by study, point and metric.
void eachMedian(std::span<const Source> sources, function_ref<void(const Median&)> take) {
  for (const Source& source : sources)
    for (const Point& point : source.plan.points)
      for (const Metric& metric : source.plan.metrics)
        if (const judge::Summary* found = source.judgement.find(point.id, metric.name);
            found && found->median && std::isfinite(*found->median))
          take({source.plan, point, metric, *found});
}

/// Replaces all but letters and digits: names of OpenMetrics allow no others.
std::string withLetters(std::string name) {
  std::ranges::replace_if(name, [](char c) { return !llvm::isAlnum(c); }, '_');
  return name;
}

/// Returns NAME="VALUE" with OpenMetrics' escapes.
std::string labelText(const std::string& name, const std::string& value) {
  std::string text;
  for (const char c : Median::utf8(value))
    text += c == '\n' ? std::string("\\n") : c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return fmt::format("{}=\"{}\"", name, text);
}

}  // namespace

std::string bencher(std::span<const Source> sources) {
  // Bencher's limits. A longer name becomes the point's id or a hash, which also stays the same from run to run.
  constexpr size_t kLongestBenchmark = 1024, kLongestMeasure = 64;
  std::map<std::string, Object> benchmarks;
  eachMedian(sources, [&](const Median& one) {
    Object value{{"value", *one.summary.median}};
    if (const auto interval = one.interval()) {
      value["lower_value"] = interval->low;
      value["upper_value"] = interval->high;
    }
    const std::string benchmark = one.benchmark(), measure = Median::utf8(one.metric.name);
    benchmarks[benchmark.size() <= kLongestBenchmark ? benchmark : one.point.id]
              [measure.size() <= kLongestMeasure ? measure : base::shortHash(measure)] = std::move(value);
  });
  Object all;
  for (auto& [name, measures] : benchmarks) all[name] = std::move(measures);
  return base::prettyJson(std::move(all)) + "\n";
}

std::string actionBenchmark(std::span<const Source> sources, plan::Direction better) {
  Array all;
  eachMedian(sources, [&](const Median& one) {
    if (one.metric.better != better) return;
    Object entry{{"name", one.benchmark() + ": " + Median::utf8(one.metric.name)},
                 {"unit", jsonText(one.metric.unit)},
                 {"value", *one.summary.median},
                 {"extra", fmt::format("median of {} trials", one.summary.n)}};
    if (const auto interval = one.interval()) entry["range"] = fmt::format("[{}, {}]", interval->low, interval->high);
    all.push_back(std::move(entry));
  });
  return base::prettyJson(std::move(all)) + "\n";
}

std::string openMetrics(std::span<const Source> sources) {
  static const std::map<std::string, std::string> kUnits{{"s", "seconds"}, {"B", "bytes"}};
  // OpenMetrics wants the lines of a family together, while medians come by point: collect them by family.
  std::map<std::string, std::string> families;
  eachMedian(sources, [&](const Median& one) {
    const auto* unit = entryOf(kUnits, one.metric.unit);
    std::string name = "expc_" + withLetters(one.metric.name);
    if (unit) name += "_" + *unit;
    std::string& lines = families[name];
    if (lines.empty()) {
      lines = fmt::format("# TYPE {} gauge\n", name);
      if (unit) lines += fmt::format("# UNIT {} {}\n", name, *unit);
      lines += fmt::format("# HELP {} median over trials, and the ends of its 95 % interval\n", name);
    }
    // Two factors whose names differ only in signs would give a label twice, which is invalid; the map keeps one.
    std::map<std::string, std::string> labels;
    for (size_t i = 0; i < one.plan.factors.size(); ++i) {
      const std::string label = "factor_" + withLetters(one.plan.factors[i].name);
      labels[label] = labelText(label, one.plan.levelLabel(one.point, i));
    }
    std::string texts = labelText("study", one.plan.study) + "," + labelText("point", one.point.id);
    for (const auto& [label, text] : labels) texts += "," + text;
    const auto sample = [&](const char* of, double value) {
      lines += fmt::format("{}{{{},of=\"{}\"}} {}\n", name, texts, of, value);
    };
    sample("median", *one.summary.median);
    if (const auto interval = one.interval()) sample("low", interval->low), sample("high", interval->high);
  });
  std::string text;
  for (const auto& [name, lines] : families) text += lines;
  return text + "# EOF\n";
}

}  // namespace expc::exports
