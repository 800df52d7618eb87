#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/value/rational.h"

namespace expc::check {

/// What a number counts: powers of the base dimensions; where all are zero, a plain number, a ratio (`2.0x`) or a share
/// (`95%`), which never mix.
struct Dimension {
  enum Base { Time, Bytes, Pixels, Images, Tokens, Energy, Operations };
  static constexpr size_t kBases = 7;
  enum class Flavor : uint8_t { Plain, Ratio, Share };

  std::array<int8_t, kBases> powers{};
  Flavor flavor = Flavor::Plain;

  static Dimension of(Base base);
  static Dimension ratio() { return {{}, Flavor::Ratio}; }
  static Dimension share() { return {{}, Flavor::Share}; }

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

/// Reads a unit as literals have it: "", "ms", "%", "img/s", "GB/s". Nothing if unknown.
std::optional<Unit> findUnit(std::string_view text);
/// `Time`, `Bytes`, `Ratio`, `Power`, …; nothing if it is no dimension.
std::optional<Dimension> findDimension(std::string_view type_name);
/// Their names, for suggestions.
std::vector<std::string> dimensionNames();

}  // namespace expc::check
