#include "runtime/base/numbers.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace expc::base {

TEST_CASE("quantities have three sensible digits and a unit people use") {
  CHECK(formatQuantity(1.5234, "x") == "1.52x");
  CHECK(formatQuantity(2, "x") == "2.00x");
  CHECK(formatQuantity(0.9871, "x") == "0.987x");
  CHECK(formatQuantity(152.34, "x") == "152.34x");
  CHECK(formatQuantity(0.975, "", "share") == "97.5 %");
  CHECK(formatQuantity(0.9, "", "share") == "90.0 %");
  CHECK(formatQuantity(0.0025, "", "share") == "0.25 %");
  CHECK(formatQuantity(1, "", "share") == "100.0 %");
  CHECK(formatQuantity(0.0123, "s") == "12.3 ms");
  CHECK(formatQuantity(0.0000123, "s") == "12.3 us");
  CHECK(formatQuantity(1.234e-8, "s") == "12.3 ns");
  CHECK(formatQuantity(0.99999, "s") == "1.00 s");
  CHECK(formatQuantity(90, "s") == "90.0 s");
  CHECK(formatQuantity(600, "s") == "10.0 min");
  CHECK(formatQuantity(36000, "s") == "10.0 h");
  CHECK(formatQuantity(0, "s") == "0 s");
  CHECK(formatQuantity(0.0000316, "s/sample") == "31.6 us/sample");
  CHECK(formatQuantity(1.5, "s/sample") == "1.50 s/sample");
  CHECK(formatQuantity(1.2 * 1024 * 1024 * 1024, "B") == "1.20 GiB");
  CHECK(formatQuantity(80.0 * 1024 * 1024 * 1024, "B") == "80.0 GiB");
  CHECK(formatQuantity(512, "B") == "512 B");
  CHECK(formatQuantity(2.5e9, "B/s") == "2.33 GiB/s");
  CHECK(formatQuantity(512.4, "img/s") == "512 img/s");
  CHECK(formatQuantity(51234.4, "img/s") == "51234 img/s");
  CHECK(formatQuantity(7, "") == "7");
  CHECK(formatQuantity(0.12345, "") == "0.123");
  CHECK(formatQuantity(-1.5234, "x") == "-1.52x");
}

TEST_CASE("what has no digits") {
  CHECK(formatQuantity(INFINITY, "x") == "inf");
  CHECK(formatQuantity(-INFINITY, "s") == "-inf");
  CHECK(formatQuantity(NAN, "s") == "?");
  CHECK(formatInterval({1.2, INFINITY, 0.95}, "x") == "[1.20x, inf]");
  CHECK(formatQuantity(1.5e-12, "") == "1.5e-12");
  CHECK(formatQuantity(2e18, "img/s") == "2e+18 img/s");
}

TEST_CASE("the ends of an interval share a unit and tell apart") {
  CHECK(formatInterval({1.48, 1.57, 0.95}, "x") == "[1.48x, 1.57x]");
  CHECK(formatInterval({0.012312, 0.012318, 0.95}, "s") == "[12.312 ms, 12.318 ms]");
  CHECK(formatInterval({0.9, 1.1, 0.95}, "s") == "[0.90 s, 1.10 s]");
  CHECK(formatEstimate(1.52, {1.48, 1.57, 0.95}, "x") == "1.52x [1.48x, 1.57x]");
  CHECK(formatEstimate(0.975, {0.9712, 0.9791, 0.95}, "", "share") == "97.5 % [97.1 %, 97.9 %]");
  CHECK(formatEstimate(7, {7, 7, 1}, "") == "7 [7, 7]");
  // An estimate keeps the digits and unit that it has alone.
  CHECK(formatEstimate(0.0807, {0.0779, 0.1012, 0.95}, "s") == "80.7 ms [77.9 ms, 101.2 ms]");
  CHECK(formatEstimate(1022 * 1048576.0, {942 * 1048576.0, 1034 * 1048576.0, 0.95}, "B/s") ==
        "1022 MiB/s [942 MiB/s, 1034 MiB/s]");
  CHECK(formatEstimate(0.0001, {-0.005, 0.006, 0.95}, "s") == "0.10 ms [-5.00 ms, 6.00 ms]");
  CHECK(formatInterval({-0.00001, 0.5, 0.95}, "x") == "[0.000x, 0.500x]");
}

TEST_CASE("values of one table share a unit, unless they are far smaller") {
  CHECK(formatAgainst(118, {}, "s", "", 200) == "1.97 min");
  CHECK(formatAgainst(0.5, {}, "s", "", 200) == "500 ms");
  CHECK(formatAgainst(986 * 1024.0, {}, "B/s", "", 1.54 * 1048576) == "0.963 MiB/s");
  CHECK(formatAgainst(512, {}, "B", "", 1048576) == "512 B");
  CHECK(formatParts(90, {80, 100, 0.95}, "s", "", {}, 300).interval == "[1.33 min, 1.67 min]");
  CHECK(formatAgainst(0.5, {}, "", "share", 100) == "50.0 %");
}

TEST_CASE("a value has the unit of its bound") {
  const Bounds megabytes({95e6}, {1e6, "MB/s"}), second({1}, {1, "s"}), none({1.2}, {1, "x"});
  CHECK(formatAgainst(96.25e6, megabytes, "B/s") == "96.2 MB/s");
  CHECK(formatEstimate(96e6, {95.5e6, 97e6, 0.95}, "B/s", "", megabytes) == "96.0 MB/s [95.5 MB/s, 97.0 MB/s]");
  CHECK(formatAgainst(0.18, second, "s") == "0.180 s");
  // A value far from it has a unit of its own.
  CHECK(formatAgainst(0.0018, second, "s") == "1.80 ms");
  CHECK(formatAgainst(5e11, megabytes, "B/s") == "466 GiB/s");
  CHECK(formatAgainst(1.5, none, "x") == "1.50x");
  CHECK(formatAgainst(0.975, Bounds({0.9}, {1, ""}), "", "share") == "97.5 %");
  CHECK(formatAgainst(0.975, Bounds({0.9}, {0.01, "%"}), "") == "97.5 %");
}

TEST_CASE("a column has one unit and the decimals of half of its values") {
  const auto written = [](std::vector<ColumnValue> values) {
    std::string text;
    const ColumnStyle column = columnStyle(values, "s", "time", {});
    for (const ColumnValue& one : values) text += formatAgainst(one.value, {}, "s", "time", column) + "; ";
    return text;
  };
  CHECK(written({{0.0048, {}}, {0.0062, {}}, {0.0119, {}}, {0.0162, {}}, {0.126, {}}, {0.156, {}}, {0.625, {}}}) ==
        "4.8 ms; 6.2 ms; 11.9 ms; 16.2 ms; 126.0 ms; 156.0 ms; 625.0 ms; ");
  CHECK(written({{0.006003, Interval{0.006002, 0.006008, 0.95}}, {1.000008, Interval{1.000006, 1.000009, 0.95}}}) ==
        "6.003 ms; 1000.008 ms; ");
  CHECK(written({{2, {}}, {0.0001, {}}}) == "2.00 s; 100 us; ");
}

TEST_CASE("a value never prints like a bound that it is not") {
  const std::vector<double> bound = {1.2};
  CHECK(formatAgainst(1.1996, bound, "x") == "1.1996x");
  CHECK(formatAgainst(1.2, bound, "x") == "1.20x");
  CHECK(formatAgainst(1.1, bound, "x") == "1.10x");
  CHECK(formatEstimate(1.3, {1.1996, 1.4, 0.95}, "x", "", bound) == "1.3000x [1.1996x, 1.4000x]");
  CHECK(formatAgainst(0.8999, std::vector{0.9}, "", "share") == "89.99 %");
}

TEST_CASE("confidences") {
  CHECK(formatConfidence(0.95) == "95 %");
  CHECK(formatConfidence(0.999) == "99.9 %");
  CHECK(formatConfidence(0.96875) == "96.875 %");
  CHECK(formatConfidence(0.9765625) == "97.66 %");
  CHECK(formatConfidence(0.99997101) == "99.9971 %");  // what is missing counts, and is never rounded away
  CHECK(formatConfidence(1 - 1e-10) != "100 %");
  CHECK(formatConfidence(1) == "100 %");
}

}  // namespace expc::base
