#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace expc::check {

/// An exact number: numerator / denominator in lowest terms, the denominator positive. Operations give nothing when the
/// result does not fit (or on division by zero); they never wrap and never round.
class Rational {
 public:
  constexpr Rational() = default;
  constexpr Rational(int64_t value) : numerator_(value) {}  // NOLINT: a whole number is a Rational
  static std::optional<Rational> make(__int128 numerator, __int128 denominator);

  /// Reads `300`, `0.045`, `1e6`, `4e-5`, `1_000`; no sign. Nothing if malformed or too large to be exact.
  static std::optional<Rational> parse(std::string_view digits);

  int64_t numerator() const { return numerator_; }
  bool isInteger() const { return denominator_ == 1; }
  int sign() const { return numerator_ > 0 ? 1 : numerator_ < 0 ? -1 : 0; }
  double toDouble() const;
  /// Exact decimal where one exists ("0.045", "-3"), else "1/3".
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
