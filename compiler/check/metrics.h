#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/check/scope.h"

namespace expc::check {

struct Context;

/// The metrics that a workload or a study derives from others, each declared when something reads it, wherever it
/// stands; while one is declared its expression finds the others here.
class DerivedMetrics {
 public:
  /// `metrics` are those measured, and gets the derived ones; expressions stand at `place`.
  DerivedMetrics(Context& context, const std::vector<ast::MetricDecl>& declared, std::vector<Metric>& metrics,
                 Place place)
      : context_(context), declared_(declared), metrics_(metrics), place_(place), states_(declared.size()) {
    place_.metrics = this;
  }
  void declareAll();

  /// Its place among the metrics; nothing where there is none, or one that was refused.
  std::optional<unsigned> find(std::string_view name);
  const Metric& at(unsigned index) const { return metrics_[index]; }
  /// Whether there is one of this name, good or not.
  bool declares(std::string_view name) const;
  std::vector<std::string> names() const;
  /// Notes that the metric which is declared reads this one; false after a report where its trials are others than
  /// those of what was read before.
  bool use(const Metric& metric, source::Range range);

 private:
  void declare(size_t index);
  std::optional<Metric> check(const ast::MetricDecl& declaration);

  Context& context_;
  const std::vector<ast::MetricDecl>& declared_;
  std::vector<Metric>& metrics_;
  Place place_;
  std::vector<LetEntry::State> states_;
  size_t current_ = 0;             // the one that is declared
  std::optional<TrialKind> kind_;  // of what it has read so far
};

}  // namespace expc::check
