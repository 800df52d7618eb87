#pragma once

// Exact numbers. Levels, bounds and ids must not depend on rounding (0.1 + 0.2 == 0.3 in a rule), so the
// compiler computes with fractions and converts to `double` only when it writes a plan.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace expc::check {

/// numerator / denominator in lowest terms, both 64 bits, the denominator positive. Operations give nothing if
/// the result does not fit, and on division by zero; they never wrap and never round.
class Rational {
 public:
  constexpr Rational() = default;
  constexpr Rational(int64_t value) : numerator_(value) {}  // NOLINT: a whole number is a Rational
  /// Reduces to lowest terms; nothing if the denominator is zero or a part does not fit into 64 bits.
  static std::optional<Rational> make(__int128 numerator, __int128 denominator);

  /// Reads `300`, `0.045`, `1e6`, `4e-5`, `1_000`; no sign. Nothing if malformed, or too large or too fine to
  /// be exact.
  static std::optional<Rational> parse(std::string_view digits);

  int64_t numerator() const { return numerator_; }
  bool isInteger() const { return denominator_ == 1; }
  int sign() const { return numerator_ > 0 ? 1 : numerator_ < 0 ? -1 : 0; }
  /// The nearest double if both parts are below 2^53, else within one unit in the last place.
  double toDouble() const;
  /// The exact decimal if there is one ("0.045", "-3"), else "1/3". Part of point ids, so its form must not
  /// change.
  std::string toString() const;

  std::optional<Rational> operator+(const Rational& other) const;
  std::optional<Rational> operator-(const Rational& other) const;
  std::optional<Rational> operator*(const Rational& other) const;
  std::optional<Rational> operator/(const Rational& other) const;
  std::optional<Rational> operator-() const;

  bool operator==(const Rational&) const = default;
  bool operator<(const Rational& other) const;
  bool operator<=(const Rational& other) const { return !(other < *this); }

 private:
  int64_t numerator_ = 0;
  int64_t denominator_ = 1;
};

}  // namespace expc::check
