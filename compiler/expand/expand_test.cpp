#include <doctest/doctest.h>

#include "compiler/check/fixture.h"
#include "compiler/expand/lints.h"

using namespace expc;

namespace {

struct Expanded {
  explicit Expanded(const std::string& body) : fixture(check::jobStudy(body + " measure step_time, accuracy")) {
    REQUIRE_MESSAGE(fixture.emitter.errors() == 0, fixture.text());
    selected = check::Selected::whole(*fixture.program.studies[0]);
    grid = expand::expandGrid(selected, fixture.emitter);
  }
  std::vector<std::string> lints() {
    if (grid) expand::lintGrid(selected, *grid, fixture.sources, fixture.emitter);
    return fixture.slugs();
  }
  check::Fixture fixture;
  check::Selected selected;
  std::optional<expand::Grid> grid;
};

using Slugs = std::vector<std::string>;

}  // namespace

TEST_CASE("points come in declared order") {
  Expanded study("factor gpus in { 2, 1 } factor batch in { 32, 64 } exclude gpus == 2 and batch == 64");
  REQUIRE(study.grid->size() == 3);
  CHECK(study.grid->product == 4);
  CHECK(std::vector<unsigned>(study.grid->point(0).begin(), study.grid->point(0).end()) == std::vector<unsigned>{0, 0});
  CHECK(std::vector<unsigned>(study.grid->point(2).begin(), study.grid->point(2).end()) == std::vector<unsigned>{1, 1});
}

TEST_CASE("a rule is applied as soon as its factors are chosen, and counts all that it cuts off") {
  Expanded study(
      "factor gpus in 1..10 factor batch in 1..1000 factor method in { none, lora } require gpus <= 2 exclude batch > "
      "1");
  CHECK(study.grid->size() == 4);
  CHECK(study.grid->removed[0].count == 8 * 1000 * 2);
  CHECK(study.grid->removed[1].count == 2 * 999 * 2);
  CHECK(study.grid->removed[0].examples.at(0) == std::vector<unsigned>{2, expand::kOpen, expand::kOpen});
}

TEST_CASE("a study without factors is one point") {
  Expanded study("");
  CHECK(study.grid->size() == 1);
  CHECK(study.grid->product == 1);
  CHECK(study.lints().empty());
}

TEST_CASE("rules about the system play no part") {
  Expanded study("factor gpus in 1..4 require system.gpus > 1000 exclude gpus > system.gpus");
  CHECK(study.grid->size() == 4);
  CHECK(study.lints().empty());
}

TEST_CASE("lints") {
  CHECK(Expanded("factor gpus in 1..4 require gpus < 9").lints() == Slugs{"useless-rule"});
  CHECK(Expanded("factor gpus in 1..4 require gpus < 3").lints() == Slugs{"level-never-occurs"});
  CHECK(Expanded("factor gpus in 1..4 require gpus < 0").lints() == Slugs{"empty-grid"});
  CHECK(Expanded("factor gpus in 1..4 require batch == 32").lints().empty());
  CHECK(Expanded("factor gpus in 1..4 require batch == 33").lints() == Slugs{"empty-grid"});
  CHECK(Expanded("factor gpus in 1..4 require 1 / (gpus - 3) < 9").lints() == Slugs{"division-by-zero"});
  CHECK(Expanded("factor method in { none, lora } require rank == 8").lints() == Slugs{"inactive-parameter"});
  CHECK(Expanded("factor method in { none, lora } exclude method == lora and rank != 8").lints() ==
        Slugs{"useless-rule"});
  // A rule that another one shadows does remove points.
  CHECK(Expanded("factor gpus in 1..4 require gpus < 4 exclude gpus == 4").lints() == Slugs{"level-never-occurs"});
}

TEST_CASE("a smallest conflict misses no rule and needs each") {
  Expanded study(
      "factor gpus in 1..4 factor batch in 1..4 require gpus + batch > 6 require gpus < 3 require batch < 4 require "
      "gpus != 9");
  CHECK(study.grid->size() == 0);
  CHECK(expand::minimalConflict(study.selected) == std::vector<unsigned>{0, 1});
  Expanded fine("factor gpus in 1..4");
  CHECK(expand::minimalConflict(fine.selected).empty());
}
