#pragma once

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

/// What a number counts: powers of the base dimensions; where all are zero, a plain number, a ratio (`2.0x`) or a share
/// (`95%`), which never mix.
struct Dimension {
  enum Base { Time, Bytes, Pixels, Images, Tokens, Energy, Operations };
  static constexpr size_t kBases = 7;
  enum class Flavor : uint8_t { Plain, Ratio, Share };

  /// Powers of units that a study declares itself, by name.
  using Own = std::map<std::string, int, std::less<>>;

  std::array<int8_t, kBases> powers{};
  Flavor flavor = Flavor::Plain;
  const Own* own = nullptr;  // null: none; equal ones are one object

  static Dimension of(Base base);
  static Dimension ofOwn(std::string_view unit);
  static Dimension ratio() { return {{}, Flavor::Ratio, nullptr}; }
  static Dimension share() { return {{}, Flavor::Share, nullptr}; }

  bool operator==(const Dimension&) const = default;
  bool isPlain() const { return *this == Dimension{}; }
  bool isPure() const;  // all powers zero
  bool isRate() const { return powers[Time] == -1; }

  /// As a type is written: "Time", "Images / Time", "Share", "number".
  std::string typeName() const;
  /// For the plan: "time", "images/time", "share", "ratio", "number".
  std::string planName() const;
  /// The unit of its base values: "s", "img/s", "x" for ratios, "" for shares and numbers.
  std::string baseUnit() const;

  /// Nothing when a ratio meets a share, or a power leaves a byte.
  std::optional<Dimension> times(const Dimension& other) const;
  std::optional<Dimension> over(const Dimension& other) const;
};

/// A unit is a dimension and how many base units it is: `GiB` is 2^30 B.
struct Unit {
  Dimension dimension;
  Rational scale = 1;
};

/// Reads a unit as literals have it: "", "ms", "%", "img/s", "GB/s"; `declared` is asked for those that are not built
/// in. Nothing if unknown.
using UnitSource = std::function<std::optional<Unit>(std::string_view name)>;
std::optional<Unit> findUnit(std::string_view text, const UnitSource& declared = nullptr);
/// `Time`, `Bytes`, `Ratio`, `Power`, …; nothing if it is no dimension.
std::optional<Dimension> findDimension(std::string_view type_name);

}  // namespace expc::check
