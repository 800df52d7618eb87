#include "compiler/check/value/dimension.h"

#include <doctest/doctest.h>

using namespace expc::check;

TEST_CASE("units are exact and typed") {
  CHECK(findUnit("GiB")->scale == Rational(1073741824));
  CHECK(findUnit("GB")->scale == Rational(1000000000));
  CHECK(findUnit("ms")->scale == Rational::make(1, 1000));
  CHECK(findUnit("%")->dimension == Dimension::share());
  CHECK(findUnit("x")->dimension == Dimension::ratio());
  CHECK(findUnit("GB/s")->scale == Rational(1000000000));
  CHECK(findUnit("img/s")->dimension.isRate());
  CHECK(findUnit("img/ms")->scale == Rational(1000));
  CHECK(findUnit("J/s")->dimension == findUnit("W")->dimension);
  for (const char* text : {"gb", "sec", "img/", "/s", "img//s", "x%"}) CHECK_MESSAGE(!findUnit(text), text);
}

TEST_CASE("names of dimensions") {
  Dimension rate = findUnit("img/s")->dimension;
  CHECK(rate.typeName() == "Images / Time");
  CHECK(rate.planName() == "images/time");
  CHECK(rate.baseUnit() == "img/s");
  CHECK(findDimension("Power")->baseUnit() == "W");
  CHECK(findDimension("Bytes")->planName() == "bytes");
  CHECK(findDimension("Share")->baseUnit().empty());
  CHECK(findDimension("Ratio")->baseUnit() == "x");
  CHECK(!findDimension("time"));
}

TEST_CASE("ratios and shares never mix") {
  Dimension ratio = Dimension::ratio(), share = Dimension::share(), time = Dimension::of(Dimension::Time);
  CHECK(!ratio.times(share));
  CHECK(!share.over(ratio));
  CHECK(ratio.times(Dimension{}) == ratio);
  CHECK(ratio.times(time) == time);
  CHECK(time.over(time) == Dimension{});
  CHECK(share.over(share) == Dimension{});
}
