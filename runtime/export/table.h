#pragma once

// The two tables of an export (docs/export.md lists their columns): a row for each trial and metric,
// and a row for each value of a series. A table is a list of described columns and a function that produces rows on
// demand; formats.h writes them. Tables hold every trial of a study's points, also those that do not count, so that
// readers can select for themselves.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/describe/description.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/store/store.h"

namespace expc::exports {

/// One study with everything that an export is made from.
struct Source {
  Plan plan;
  /// The results that count for the judgement.
  Results results;
  Conclusions judgement;
  /// Every trial of the plan's points that the store holds, whether it counts or not.
  store::History history;

  /// Returns the parts that functions of the report take; refers to this object.
  Findings findings() const { return {plan, judgement, results}; }
};

/// The type of a column's values.
enum class Type { Text, Integer, Real, Truth, Time };
/// Returns "text", "integer", "real", "truth" or "time".
std::string_view toString(Type type);

/// A column of a table.
struct Column {
  std::string name;
  Type type = Type::Text;
  /// One line for readers: what it holds, and when it is empty.
  std::string what;
};

/// A moment, in seconds of Unix time.
struct UnixTime {
  double seconds = 0;
};
/// Returns "2026-11-23T08:13:55.250000Z". Moments before 1970 or after the year 9999 are moved to these bounds, and
/// what is not finite is 1970.
std::string timeText(UnixTime time);

/// A value of a row; std::monostate means none. Texts are borrowed until the row was written.
using Cell = std::variant<std::monostate, std::string_view, int64_t, double, bool, UnixTime>;
using Row = std::span<const Cell>;

/// Columns, and rows that are passed on one at a time, so that memory holds only the records that they are made from. A
/// row has a cell for each column, of the column's type or none.
struct Table {
  const char* name;
  std::vector<Column> columns = {};
  std::function<void(function_ref<void(Row)> take)> rows = {};
};

/// The table with a row for each trial and metric, derived metrics included; a trial without any value has one row
/// without a metric. Rows are sorted by study, trial and metric. The last columns are `factor_NAME` for every factor of
/// all studies, in their order. Both tables refer to the sources, which must outlive them.
Table measurements(std::span<const Source> sources);
/// The table with a row for each value of each series, with the same columns of factors.
Table series(std::span<const Source> sources);

}  // namespace expc::exports
