#pragma once

// Rows of a command whose process goes through levels by itself: each row of a table in its output names its levels,
// and has values of the metrics that are read from the same table.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"
#include "runtime/worker/command/readers.h"

namespace expc::command {

/// The value of a metric in one row. `value` is absent where the row has none.
struct RowValue {
  std::optional<double> value;
  Values series;  // of a metric with the trait
};

/// Makes a sketch of the values of a distribution, and returns their median, which stands for them as one number.
double sketched(const plan::CommandMetric& metric, Values& values);

/// Reads the columns of one command's table.
class RowReader {
 public:
  /// Checks everything that can be wrong before the program runs.
  static Expected<RowReader> make(const plan::Command& command);
  /// Checks the metric, which is one of rows, likewise.
  Error prepare(const plan::CommandMetric& metric);

  /// Reads the keys of all rows; the first of `command.inside` says where they stand. "" for a row without levels.
  Expected<std::vector<std::string>> keys(StringRef text) const;
  /// The numbers of a column, by row.
  Expected<std::vector<Values>> numbers(const plan::CommandMetric& column, StringRef text) const;
  /// The values of a metric, by the key of their row.
  Expected<std::map<std::string, RowValue>> read(const plan::CommandMetric& metric, StringRef text,
                                                 const std::vector<std::string>& keys) const;

 private:
  Expected<RowTexts> texts(const plan::CommandMetric& column, const std::string& where, StringRef text,
                           bool number) const;

  std::vector<plan::CommandMetric> inside_;
  std::map<std::string, Pattern> patterns_;  // by text
};

}  // namespace expc::command
