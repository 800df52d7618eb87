#include <doctest/doctest.h>

#include "compiler/diag/diagnostic.h"

namespace expc::diag {

namespace {

struct Bench {
  source::SourceManager sources;
  source::FileId file = sources.add("a.exp", "0123456789");
  source::FileId library = sources.add("<stdlib>/b.exp", "abc");
  std::vector<Diagnostic> diagnostics;

  void add(std::vector<FixIt> fixes) {
    diagnostics.push_back({Kind::UnknownName, Severity::Error, {file, 0, 1}, "m", {}, std::move(fixes)});
  }
  FixIt at(uint32_t begin, uint32_t end, std::string text, Applicability how = Applicability::Certain) {
    return {{file, begin, end}, std::move(text), how};
  }
  FixSet choose() {
    return chooseFixes(diagnostics, [&](source::FileId id) { return id == file; });
  }
  std::string applied() { return applyFixes(sources.text(file), file, choose().edits); }
};

}  // namespace

TEST_CASE("edits are applied from left to right, whatever order they came in") {
  Bench bench;
  bench.add({bench.at(8, 10, "Z")});
  bench.add({bench.at(0, 1, "first"), bench.at(4, 4, "+")});
  CHECK(bench.applied() == "first123+4567Z");
  CHECK(bench.choose().mended == std::vector<size_t>{0, 1});
}

TEST_CASE("of overlapping fixes the first diagnostic wins, with all of its own") {
  Bench bench;
  bench.add({bench.at(2, 5, "x")});
  bench.add({bench.at(4, 6, "y"), bench.at(8, 9, "z")});
  bench.add({bench.at(5, 6, "w")});
  const FixSet set = bench.choose();
  CHECK(set.mended == std::vector<size_t>{0, 2});
  CHECK(bench.applied() == "01xw6789");
}

TEST_CASE("two insertions at one place are not guessed, the same edit twice is one") {
  Bench bench;
  bench.add({bench.at(3, 3, "a")});
  bench.add({bench.at(3, 3, "b")});
  bench.add({bench.at(3, 3, "a")});
  CHECK(bench.choose().mended == std::vector<size_t>{0, 2});
  CHECK(bench.applied() == "012a3456789");
}

TEST_CASE("a guess is not chosen, nor is what belongs to it") {
  Bench bench;
  bench.add({bench.at(0, 1, "x", Applicability::Guess)});
  bench.add({bench.at(2, 3, "y"), bench.at(4, 5, "z", Applicability::Guess)});
  CHECK(bench.choose().edits.empty());
}

TEST_CASE("files that may not be changed are left alone") {
  Bench bench;
  bench.add({{{bench.library, 0, 1}, "x"}});
  bench.add({{{}, "x"}});
  CHECK(bench.choose().edits.empty());
  CHECK(bench.applied() == "0123456789");
}

}  // namespace expc::diag
