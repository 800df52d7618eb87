#pragma once

// The strict reader of plans; split over plan_read.cpp (the document) and plan_read_terms.cpp (what is judged).

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/json.h"
#include "runtime/plan/plan.h"

namespace expc::plan {

inline std::string quoted(const std::string& text) { return "'" + text + "'"; }

class PlanReader {
 public:
  llvm::Expected<Plan> read(const llvm::json::Value& value);

 private:
  void readHead(JsonFields& in, const JsonPath& root);
  void readNumbers(const llvm::json::Value& value, const JsonPath& at, std::map<std::string, double>& numbers);
  void readRates(const llvm::json::Value& value, const JsonPath& at);
  void readWorkload(const llvm::json::Value& value, const JsonPath& at);
  void readFactor(const llvm::json::Value& value, const JsonPath& at);
  void readPoint(const llvm::json::Value& value, const JsonPath& at);
  void readRemoved(const llvm::json::Value& value, const JsonPath& at);
  void readMetric(const llvm::json::Value& value, const JsonPath& at);
  void readComparison(const llvm::json::Value& value, const JsonPath& at);
  void readCriterion(const llvm::json::Value& value, const JsonPath& at);
  void readControl(const llvm::json::Value& value, const JsonPath& at);
  void readReference(const llvm::json::Value& value, const JsonPath& at);
  void readDesign(const llvm::json::Value& value, const JsonPath& at);
  void readValidity(const llvm::json::Value& value, const JsonPath& at);
  void readLooks(JsonFields& in, KindDesign& kind);
  void readKindDesign(const llvm::json::Value& value, const JsonPath& at);
  void readTable(const llvm::json::Value& value, const JsonPath& at);
  void readPlot(const llvm::json::Value& value, const JsonPath& at);

  /// What the terms of a cell or of a derived metric may read.
  struct Scope {
    TrialKind kind = TrialKind::Timed;
    bool inside_point = false;  // of a derived metric: measured metrics, without a point
  };
  Cell readCell(const llvm::json::Value& value, const JsonPath& at, size_t label_count);
  TermPtr readTerm(const llvm::json::Value& value, const JsonPath& at, Scope scope, unsigned depth);
  OperationTerm readOperation(JsonFields& in, OperationTerm::Op op, Scope scope, unsigned depth);
  MetricTerm readMetricTerm(JsonFields& in, Scope scope, bool series);
  MetricTerm readSeries(const llvm::json::Value& value, const JsonPath& at, Scope scope);
  FirstTerm readFirst(JsonFields& in, const JsonPath& at, Scope scope);
  GapTerm readGap(JsonFields& in, Scope scope);
  Bound readBound(const llvm::json::Value& value, const JsonPath& at);
  Claim readClaim(const llvm::json::Value& value, const JsonPath& at, size_t cells, unsigned depth, bool& reaches_cell);
  std::vector<std::string> factorNames(JsonFields& in, llvm::StringRef key);
  void requireSubject(JsonFields& in, const std::string& subject);

  JsonErrors errors_;
  Plan plan_;
  llvm::StringSet<> factors_, points_, comparisons_, criteria_;
  struct KnownMetric {
    TrialKind kind;
    bool series, derived;
  };
  llvm::StringMap<KnownMetric> metrics_;
};

}  // namespace expc::plan
