// Intermediate results have 128 bits, which hold any product or sum of products of 64-bit parts; `make` reduces
// them and checks that the result fits.

#include "compiler/check/value/rational.h"

#include <charconv>
#include <limits>
#include <system_error>

namespace expc::check {
namespace {

using Wide = __int128;

/// Greatest common divisor by Euclid's algorithm; signs are ignored.
Wide gcd(Wide a, Wide b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) {
    Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

bool fits(Wide value) {
  return value >= std::numeric_limits<int64_t>::min() && value <= std::numeric_limits<int64_t>::max();
}

}  // namespace

std::optional<Rational> Rational::make(Wide numerator, Wide denominator) {
  if (denominator == 0) return std::nullopt;
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  // Reduce before checking the size: intermediate results are often larger than their lowest terms.
  if (Wide common = gcd(numerator, denominator); common > 1) {
    numerator /= common;
    denominator /= common;
  }
  if (!fits(numerator) || !fits(denominator)) return std::nullopt;
  Rational result;
  result.numerator_ = int64_t(numerator);
  result.denominator_ = int64_t(denominator);
  return result;
}

std::optional<Rational> Rational::parse(std::string_view digits) {
  // 10^36: ten times as much, and a digit, still fit into 128 bits (1.7 x 10^38).
  constexpr Wide kLimit = static_cast<Wide>(1e18) * static_cast<Wide>(1e18);
  Wide mantissa = 0;
  int scale = 0;
  bool any = false, fraction = false;
  size_t at = 0;
  // Digits: collect them in the mantissa, and count those behind the point.
  for (; at < digits.size(); ++at) {
    char c = digits[at];
    if (c == '_') continue;
    if (c == '.') {
      if (fraction) return std::nullopt;
      fraction = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    if (mantissa > kLimit) return std::nullopt;
    mantissa = mantissa * 10 + (c - '0');
    if (fraction) --scale;
    any = true;
  }
  if (!any) return std::nullopt;
  if (at < digits.size()) {
    if (digits[at] != 'e' && digits[at] != 'E') return std::nullopt;
    // The exponent. from_chars accepts no plus sign; "+-" must stay an error.
    std::string_view written = digits.substr(at + 1);
    if (written.starts_with('+') && !written.starts_with("+-")) written.remove_prefix(1);
    int exponent = 0;
    const auto [end, problem] = std::from_chars(written.data(), written.data() + written.size(), exponent);
    if (end != written.data() + written.size() || problem == std::errc::invalid_argument) return std::nullopt;
    // Nothing but zero can be exact with such an exponent, and 0e9999 is zero.
    const bool huge = problem != std::errc() || exponent > 1000 || exponent < -1000;
    if (huge && mantissa != 0) return std::nullopt;
    scale += huge ? 0 : exponent;
  }
  if (mantissa == 0) return Rational(0);
  // Trailing zeros of the fraction (1.500) would make the denominator needlessly large.
  while (scale < 0 && mantissa % 10 == 0) {
    mantissa /= 10;
    ++scale;
  }
  Wide denominator = 1;
  for (; scale > 0; --scale) {
    if (mantissa > kLimit) return std::nullopt;
    mantissa *= 10;
  }
  for (; scale < 0; ++scale) {
    if (denominator > kLimit) return std::nullopt;
    denominator *= 10;
  }
  return make(mantissa, denominator);
}

double Rational::toDouble() const {
  // Up to 2^53 both parts are exact as doubles, and one division rounds to the nearest. Beyond, long double (64
  // bits of mantissa on x86) comes close.
  constexpr int64_t kExact = int64_t{1} << 53;
  if (numerator_ >= -kExact && numerator_ <= kExact && denominator_ <= kExact)
    return double(numerator_) / double(denominator_);
  return double(static_cast<long double>(numerator_) / denominator_);
}

std::string Rational::toString() const {
  if (denominator_ == 1) return std::to_string(numerator_);
  // A finite decimal exists iff the denominator has no prime factor but 2 and 5.
  int64_t rest = denominator_;
  int twos = 0, fives = 0;
  for (; rest % 2 == 0; rest /= 2) ++twos;
  for (; rest % 5 == 0; rest /= 5) ++fives;
  // A fraction with a factor 2^a 5^b below has max(a, b) decimal places; more than 18 are not written out.
  int places = twos > fives ? twos : fives;
  if (rest != 1 || places > 18) return std::to_string(numerator_) + "/" + std::to_string(denominator_);
  std::string text;
  Wide magnitude = numerator_ < 0 ? -static_cast<Wide>(numerator_) : static_cast<Wide>(numerator_);
  text += std::to_string(uint64_t(magnitude / denominator_)) + ".";
  Wide remainder = magnitude % denominator_;
  // Long division, one digit at a time.
  for (int i = 0; i < places; ++i) {
    remainder *= 10;
    text += char('0' + int(remainder / denominator_));
    remainder %= denominator_;
  }
  while (text.back() == '0') text.pop_back();
  return numerator_ < 0 ? "-" + text : text;
}

std::optional<Rational> Rational::operator+(const Rational& other) const {
  // Each product is below 2^126 and their sum below 2^127: no overflow in the intermediate.
  return make(Wide(numerator_) * other.denominator_ + Wide(other.numerator_) * denominator_,
              Wide(denominator_) * other.denominator_);
}

std::optional<Rational> Rational::operator-(const Rational& other) const {
  return make(Wide(numerator_) * other.denominator_ - Wide(other.numerator_) * denominator_,
              Wide(denominator_) * other.denominator_);
}

std::optional<Rational> Rational::operator*(const Rational& other) const {
  return make(Wide(numerator_) * other.numerator_, Wide(denominator_) * other.denominator_);
}

std::optional<Rational> Rational::operator/(const Rational& other) const {
  return make(Wide(numerator_) * other.denominator_, Wide(denominator_) * other.numerator_);
}

std::optional<Rational> Rational::operator-() const { return make(-Wide(numerator_), denominator_); }

bool Rational::operator<(const Rational& other) const {
  return Wide(numerator_) * other.denominator_ < Wide(other.numerator_) * denominator_;
}

}  // namespace expc::check
