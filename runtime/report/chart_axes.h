#pragma once

// The axes of charts, and what all kinds of chart draw alike.

#include <llvm/Support/JSON.h>

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace expc::report {

/// A unit for an axis on which `largest` is the largest magnitude: values are multiplied by `factor`.
struct AxisUnit {
  double factor = 1;
  std::string symbol;  // "ms", "GiB", "%", "×", "" (a plain number)
};
AxisUnit axisUnit(const std::string& unit, const std::string& dimension, double largest);

/// The finite values that an axis must hold.
struct Extent {
  double low = HUGE_VAL, high = -HUGE_VAL;
  void add(double value);
  void add(const std::optional<double>& value);
  bool empty() const { return low > high; }
  double magnitude() const { return std::max(std::fabs(low), std::fabs(high)); }
};

/// An axis of measured values.
struct ValueAxis {
  std::string subject;
  AxisUnit unit;
  Extent extent;
  std::optional<double> neutral = std::nullopt;  // of a comparison: belongs to the axis
  bool log = false;

  /// "step_time (ms)".
  std::string title() const;
  llvm::json::Object encoding(llvm::StringRef field) const;

 private:
  llvm::json::Object scale() const;
};
/// Comparisons by ratios, and values that spread widely, get a logarithmic axis.
ValueAxis valueAxis(const std::string& subject, const std::string& unit, const std::string& dimension, Extent extent,
                    std::optional<double> neutral = std::nullopt);

/// The levels of a factor along an axis: words at equal distances; numbers where they lie, on a logarithmic axis where
/// they are more even there (1, 2, 4, 8; 0, 1, 10, 1000). Ticks are the levels as the study wrote them.
struct FactorAxis {
  std::string title;
  std::vector<std::string> labels;  // in the order of the levels
  std::vector<double> places;       // of each label; empty: at equal distances
  bool numbers = false;             // all levels are numbers, so that lines between them mean something
  bool log = false;
  double linear_to = 0;    // on a logarithmic axis with 0 or less on it: as far as this from 0 it is not (symlog)
  std::string name = "x";  // of the channel and of the field with the label

  /// Adds the label and, where levels lie at numbers, its place.
  void place(llvm::json::Object& datum, const std::string& label) const;
  /// `padding`: pixels at both ends.
  llvm::json::Object encoding(double padding) const;
  /// Parameters of the whole specification that the encoding reads.
  llvm::json::Array parameters() const;
  /// The smallest distance of neighbours, as a share of the axis.
  double narrowest() const;
};
FactorAxis factorAxis(const plan::Plan& plan, const std::string& factor, const std::set<std::string>& labels);

/// The `look` of a level chooses its colour and shape: the same in every chart of a page.
inline constexpr size_t kColours = 8;
const char* colourOf(size_t look);
const char* shapeOf(size_t look);

llvm::json::Object fieldOf(llvm::StringRef name, llvm::StringRef type);
/// What a tooltip or another channel says of a field.
llvm::json::Object titled(llvm::StringRef name, llvm::StringRef type, const std::string& title);
llvm::json::Object layerOf(llvm::json::Object mark, llvm::json::Object encoding, llvm::StringRef data);
/// A line below a chart.
llvm::json::Object noteBelow(const std::string& text);

}  // namespace expc::report
