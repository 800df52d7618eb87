#include "compiler/check/value/rational.h"

#include <doctest/doctest.h>

#include <limits>
#include <random>

using expc::check::Rational;

TEST_CASE("decimals are exact") {
  CHECK(Rational::parse("0.1") == Rational::make(1, 10));
  CHECK(Rational::parse("1e6") == Rational(1000000));
  CHECK(Rational::parse("4e-5")->toString() == "0.00004");
  CHECK(Rational::parse("0.045")->toString() == "0.045");
  CHECK(Rational::parse("300")->toString() == "300");
  CHECK(Rational::parse("1_000") == Rational(1000));
  CHECK(*Rational::parse("0.1") + *Rational::parse("0.2") == Rational::parse("0.3"));
  CHECK((*(Rational(1) / Rational(3))).toString() == "1/3");
  CHECK((*-*Rational::parse("2.50")).toString() == "-2.5");
  CHECK(Rational::parse("1000000000000000000000e-18") == Rational(1000));
}

TEST_CASE("what does not fit or is malformed gives nothing") {
  for (const char* text :
       {"", ".", "e5", "1e", "1e+", "1.2.3", "99999999999999999999", "1e19", "1e-19", "1e999999999", "12x"})
    CHECK_MESSAGE(!Rational::parse(text), text);
  CHECK(Rational::parse("0e999999") == Rational(0));
  Rational least(std::numeric_limits<int64_t>::min());
  Rational most(std::numeric_limits<int64_t>::max());
  CHECK(!-least);
  CHECK(!(most + Rational(1)));
  CHECK(!(least - Rational(1)));
  CHECK(!(most * most));
  CHECK(!(Rational(1) / Rational(0)));
  CHECK(!(least / Rational(-1)));
  CHECK(least / least == Rational(1));
  CHECK(least.toString() == "-9223372036854775808");
}

TEST_CASE("arithmetic agrees with wide integers on random fractions") {
  std::mt19937_64 random(7);
  std::uniform_int_distribution<int64_t> draw(-1000000, 1000000);
  for (int i = 0; i < 2000; ++i) {
    int64_t a = draw(random), b = draw(random), c = draw(random), d = draw(random);
    if (b == 0 || d == 0) continue;
    Rational x = *Rational::make(a, b), y = *Rational::make(c, d);
    CHECK(*(x + y) == *Rational::make(__int128(a) * d + __int128(c) * b, __int128(b) * d));
    CHECK(*(*(x - y) + y) == x);
    if (c != 0) CHECK(*(*(x / y) * y) == x);
    CHECK((x < y) == (x.toDouble() < y.toDouble() && x != y));
  }
}
