#pragma once

// The fields of a plan, for reading and for writing, and what has to agree between them; split over plan_json.cpp (the
// document) and plan_json_terms.cpp (what is judged).

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

#include <string>
#include <vector>

#include "runtime/plan/json_record.h"
#include "runtime/plan/plan.h"

namespace expc::plan {

/// Names are those of one file: runtime/plan/name.h.
void requireName(JsonRecord& io, llvm::StringRef key, const std::string& name);

inline std::string quoted(const std::string& text) { return "'" + text + "'"; }

class PlanFields {
 public:
  explicit PlanFields(Plan& plan) : plan_(plan) {}
  void describe(JsonRecord& io);

 private:
  void describe(JsonRecord& io, Rates& rates);
  void describe(JsonRecord& io, Workload& workload);
  void describe(JsonRecord& io, Factor& factor);
  void describe(JsonRecord& io, Level& level);
  void describe(JsonRecord& io, Point& point);
  void describe(JsonRecord& io, RemovedGroup& group);
  void describe(JsonRecord& io, Metric& metric);
  void describe(JsonRecord& io, Comparison& comparison);
  void describe(JsonRecord& io, Criterion& criterion);
  void describe(JsonRecord& io, Control& control);
  void describe(JsonRecord& io, Reference& reference);
  void describe(JsonRecord& io, Reference::Value& value);
  void describe(JsonRecord& io, Design& design);
  void describe(JsonRecord& io, Validity& validity);
  void describe(JsonRecord& io, KindDesign& kind);
  void describe(JsonRecord& io, Until& until);
  void describe(JsonRecord& io, Table& table);
  void describe(JsonRecord& io, Plot& plot);
  void describeLevels(JsonRecord& io, Point& point);
  template <typename T>
  void list(JsonRecord& io, JsonRecord::Key key, std::vector<T>& items) {
    io.list(key, items, [this](JsonRecord& inner, T& item) { describe(inner, item); });
  }

  /// What the terms of a cell or of a derived metric may read.
  struct Scope {
    TrialKind kind = TrialKind::Timed;
    bool inside_point = false;  // of a derived metric: measured metrics, without a point
  };
  void describe(JsonRecord& io, Cell& cell, size_t label_count);
  void describe(JsonRecord& io, TermPtr& term, Scope scope, unsigned depth);
  void describe(JsonRecord& io, OperationTerm& operation, Scope scope, unsigned depth);
  void describe(JsonRecord& io, MetricTerm& metric, Scope scope, bool series);
  void describe(JsonRecord& io, GapTerm& gap, Scope scope);
  void describe(JsonRecord& io, Claim& claim, size_t cells, unsigned depth, bool& reaches_cell);
  void describeTerm(JsonRecord& io, JsonRecord::Key key, TermPtr& term, Scope scope, unsigned depth);
  void describeFactorNames(JsonRecord& io, JsonRecord::Key key, std::vector<std::string>& names);
  void requireSubject(JsonRecord& io, const std::string& subject);

  Plan& plan_;
  // What was read so far.
  llvm::StringSet<> factors_, points_, comparisons_, criteria_;
  struct KnownMetric {
    TrialKind kind;
    bool series, derived;
  };
  llvm::StringMap<KnownMetric> metrics_;
};

}  // namespace expc::plan
