#pragma once

// The two tables of an export (docs/export.md lists the columns), and what they are made from.

#include <llvm/ADT/STLFunctionalExtras.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/store/store.h"

namespace expc::exports {

/// One study with all that is known of it: what an export is made from.
struct Source {
  plan::Plan plan;
  store::Results results;  // what counts
  analysis::Judgement judgement;
  store::History history;  // all that there is of its points

  analysis::Findings findings() const { return {plan, judgement, results}; }
};

enum class Type { Text, Integer, Real, Truth, Time };
/// "text", "integer", "real", "truth", "time".
std::string_view toString(Type type);

struct Column {
  std::string name;
  Type type = Type::Text;
  std::string what;  // one line: what it holds, and when it is empty
};

/// Seconds of Unix time.
struct UnixTime {
  double seconds = 0;
};
/// "2026-11-23T08:13:55.250000Z"; no date before 1970 or after the year 9999.
std::string timeText(UnixTime time);

/// A value of a row; std::monostate where there is none. Text is borrowed until the row was written.
using Cell = std::variant<std::monostate, std::string_view, int64_t, double, bool, UnixTime>;
using Row = std::span<const Cell>;

/// Columns that say what they hold, and rows that are handed on one at a time, so that nothing is held in memory but
/// the records that they are made from. A row has a cell for each column, of the column's type or none.
struct Table {
  const char* name;
  std::vector<Column> columns = {};
  std::function<void(llvm::function_ref<void(Row)> take)> rows = {};
};

/// A row for each trial and metric, derived ones included; of a trial without any value one row without a metric. By
/// study, then by trial, then by metric. The last columns are `factor_NAME` for every factor of the studies, in their
/// order. It refers to the sources, as the next one does.
Table measurements(std::span<const Source> sources);
/// A row for each value of each series, with the same factors.
Table series(std::span<const Source> sources);

}  // namespace expc::exports
