#include "compiler/source/diff.h"

#include <doctest/doctest.h>

namespace expc::source {

TEST_CASE("equal texts have no difference") { CHECK(unifiedDiff("a\nb\n", "a\nb\n", "f") == ""); }

TEST_CASE("a changed line stands between its context") {
  CHECK(unifiedDiff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "f.exp") ==
        "--- a/f.exp\n+++ b/f.exp\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST_CASE("distant changes are hunks of their own, near ones share one") {
  std::string before, after;
  for (int i = 1; i <= 30; ++i) {
    before += std::to_string(i) + "\n";
    after += (i == 3 ? "three" : i == 6 ? "six" : i == 25 ? "25\nmore" : std::to_string(i)) + std::string("\n");
  }
  const std::string diff = unifiedDiff(before, after, "f");
  CHECK(diff.find("@@ -1,9 +1,9 @@\n 1\n 2\n-3\n+three\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n") != std::string::npos);
  CHECK(diff.find("@@ -23,6 +23,7 @@\n 23\n 24\n 25\n+more\n 26\n 27\n 28\n") != std::string::npos);
}

TEST_CASE("empty sides and a missing newline at the end") {
  CHECK(unifiedDiff("", "a\n", "f") == "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n");
  CHECK(unifiedDiff("a\n", "", "f") == "--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-a\n");
  CHECK(unifiedDiff("a", "a\n", "f") == "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
}

}  // namespace expc::source
