#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/export/source.h"
#include "runtime/export/table.h"

namespace expc::exports {

/// The factors of several studies as columns: a number in base units where every level of the factor is one, else the
/// level as it is written, a string without its quotes. Those of one name share a column. Refers to the sources, which
/// must outlive it.
class Factors {
 public:
  explicit Factors(std::span<const Source> sources);

  const std::vector<Column>& columns() const { return columns_; }
  /// The point's levels, a cell for each column; none where the study has no such factor, or it is not active there.
  std::vector<Cell> cells(const plan::Plan& plan, const plan::Point& point) const;

 private:
  std::vector<Column> columns_;
  std::map<std::string, size_t, std::less<>> at_;  // by the factor's name
};

}  // namespace expc::exports
