#pragma once

// Dimensions and units. A dimension is a vector of powers of base quantities, so `Images / Time` and `img/s`
// need no table of their own. The units built in stand in the table of the language's words; a study may
// declare more ("own").

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/check/value/rational.h"

namespace expc::check {

/// The quantity that a number counts: powers of the base dimensions. If all powers are zero it is a plain
/// number, a ratio (`2.0x`) or a share (`95%`); these three never mix silently.
struct Dimension {
  enum Base { Time, Bytes, Pixels, Images, Tokens, Energy, Operations };
  static constexpr size_t kBases = 7;
  enum class Flavor : uint8_t { Plain, Ratio, Share };

  /// Powers of the units that a study declares itself, by name.
  using Own = std::map<std::string, int, std::less<>>;

  std::array<int8_t, kBases> powers{};
  Flavor flavor = Flavor::Plain;
  /// Null: none. Equal maps are one object (interned), so comparing pointers compares dimensions.
  const Own* own = nullptr;

  /// A base dimension; the dimension of a unit that a study declares.
  static Dimension of(Base base);
  static Dimension ofOwn(std::string_view unit);
  static Dimension ratio() { return {{}, Flavor::Ratio, nullptr}; }
  static Dimension share() { return {{}, Flavor::Share, nullptr}; }

  bool operator==(const Dimension&) const = default;
  bool isPlain() const { return *this == Dimension{}; }
  /// Whether all powers are zero: a number, a ratio or a share.
  bool isPure() const;
  /// Whether it counts something per time.
  bool isRate() const { return powers[Time] == -1; }

  /// The way a type is written: "Time", "Images / Time", "Share", "number".
  std::string typeName() const;
  /// The word in a plan: "time", "images/time", "share", "ratio", "number".
  std::string planName() const;
  /// The unit of base values: "s", "img/s", "x" for ratios, "" for shares and numbers.
  std::string baseUnit() const;

  /// The dimension of a product or quotient. Nothing if a ratio meets a share, or if a power exceeds 9.
  std::optional<Dimension> times(const Dimension& other) const;
  std::optional<Dimension> over(const Dimension& other) const;
};

/// A unit: a dimension, and its size in base units. `GiB` is 2^30 B.
struct Unit {
  Dimension dimension;
  Rational scale = 1;
};

/// Looks up a unit by name that is not built in.
using UnitSource = std::function<std::optional<Unit>(std::string_view name)>;
/// Reads a unit as literals have it: "", "ms", "%", "img/s", "GB/s". `declared` is asked for names that are not
/// built in. Nothing if one is unknown, or if the scale does not fit.
std::optional<Unit> findUnit(std::string_view text, const UnitSource& declared = nullptr);
/// `Time`, `Bytes`, `Ratio`, `Power`, …; nothing if the name is no dimension.
std::optional<Dimension> findDimension(std::string_view type_name);

}  // namespace expc::check
