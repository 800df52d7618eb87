#pragma once

// Formats in which other benchmark programs write results, as tables of columns. Each column is a place that the
// readers of JSON and of patterns know, so that no format has a parser of its own. docs/readers.md lists them.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace expc::check {

/// A column of a format, by the name that metrics and inside parameters have.
struct ToolColumn {
  std::string name;
  std::string where = "";  // a JSON pointer; of a pattern the group has the column's name
  std::string unit = "";   // "us", "GB/s"; "": a plain number, or a text
  std::string units = "";  // as plan::CommandMetric
  std::string part = "";   // likewise, with the group `part`
  double scale = 1;        // in `unit`
};

/// A format, by the name of its reader.
struct ToolFormat {
  std::string word;
  plan::CommandMetric::From from = plan::CommandMetric::From::Json;
  /// The pattern; or the pointer of columns that are not listed, with `{name}`. "": there are no others.
  std::string others;
  std::vector<ToolColumn> columns;

  const ToolColumn* find(std::string_view name) const;
};

const std::vector<ToolFormat>& toolFormats();
const ToolFormat* findToolFormat(std::string_view word);

}  // namespace expc::check
