#include <doctest/doctest.h>

#include "compiler/format/format.h"

using expc::format::unifiedDiff;

TEST_CASE("texts that agree have no diff") {
  CHECK(unifiedDiff("a", "", "") == "");
  CHECK(unifiedDiff("a", "x\n", "x\n") == "");
}

TEST_CASE("a changed line with its context") {
  CHECK(unifiedDiff("f.exp", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n") ==
        "--- f.exp\n+++ f.exp\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST_CASE("changes that are near share a hunk, others do not") {
  std::string before, near, far;
  for (int at = 0; at < 20; ++at) {
    const std::string line = std::to_string(at) + "\n";
    before += line;
    near += at == 5 || at == 12 ? "x" + line : line;
    far += at == 5 || at == 13 ? "x" + line : line;
  }
  const auto hunks = [](const std::string& diff) {
    size_t count = 0;
    for (size_t at = diff.find("@@ -"); at != std::string::npos; at = diff.find("@@ -", at + 1)) ++count;
    return count;
  };
  CHECK(hunks(unifiedDiff("f", before, near)) == 1);
  CHECK(hunks(unifiedDiff("f", before, far)) == 2);
}

TEST_CASE("sides without lines, ends without newline") {
  CHECK(unifiedDiff("f", "", "a\n") == "--- f\n+++ f\n@@ -0,0 +1 @@\n+a\n");
  CHECK(unifiedDiff("f", "a\n", "") == "--- f\n+++ f\n@@ -1 +0,0 @@\n-a\n");
  CHECK(unifiedDiff("f", "a", "a\n") == "--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
}

TEST_CASE("lines that moved") {
  CHECK(unifiedDiff("f", "a\nb\nc\n", "b\nc\na\n") == "--- f\n+++ f\n@@ -1,3 +1,3 @@\n-a\n b\n c\n+a\n");
}
