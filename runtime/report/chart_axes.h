#pragma once

// What charts say of their axes, and of the levels that they draw in colours.

#include <llvm/Support/JSON.h>

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/report/grid.h"
#include "runtime/stats/interval.h"

namespace expc::report {

/// The finite values that an axis must hold.
struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(std::optional<double> value);
  void add(const std::optional<stats::Interval>& interval);
  /// Everything that was measured.
  void add(const GridCell& cell);
  bool empty() const { return low > high; }
};

/// Adds the ends of a finite interval times `factor`, and says whether it did.
bool addEnds(llvm::json::Object& row, const std::string& low, const std::string& high,
             const std::optional<stats::Interval>& interval, double factor);

/// An axis of measured values.
struct ValueAxis {
  double factor = 1;  // values times this are in the axis's unit
  /// For holes: `subject`, `unit` (" (ms)" or ""), `title` ("step_time (ms)"), `scale`, `domain` and `nice`, the
  /// `extent` that must be drawn, `neutral`, and on a logarithmic axis of little more than a decade `ticks` and their
  /// text.
  llvm::json::Object settings = {};
};
/// Comparisons by ratios, and values that spread widely, get a logarithmic axis. `neutral`, of a comparison, belongs to
/// the axis.
ValueAxis valueAxis(const std::string& subject, const std::string& unit, const std::string& dimension, Extent extent,
                    std::optional<double> neutral = std::nullopt);

/// The levels of a factor along an axis: words at equal distances; numbers where they lie, on a logarithmic axis where
/// they are more even there (1, 2, 4, 8; 0, 1, 10, 1000). Ticks are the levels as the study wrote them.
struct FactorAxis {
  std::map<std::string, double> places;  // of each label; empty: at equal distances
  double narrowest = 0;                  // the smallest distance of neighbouring places, as a share of the axis
  /// For holes: `factor`, `title`, `levels`, and `numbers`, which says that lines between them mean something. Where
  /// levels lie at numbers their `places`, the `ends` of these, `scale`, and on a logarithmic axis with 0 or less on it
  /// `linear_to`: as far as this from 0 it is not logarithmic.
  llvm::json::Object settings = {};
};
FactorAxis factorAxis(const plan::Plan& plan, const std::string& factor, const std::set<std::string>& labels);

inline constexpr size_t kColours = 8;
/// Of a level by its index: the same in every chart of a page.
const char* colourOf(size_t level);
/// For holes: `factor`, its `levels` in order, and the `colours` and `shapes` of these.
llvm::json::Object seriesOf(const plan::Plan& plan, const std::string& factor, const std::set<std::string>& labels);

}  // namespace expc::report
