// Tests the trees of claims that join several assertions, and of `at least`, as the plan has them.

#include <doctest/doctest.h>

#include "compiler/lower/lower.h"
#include "tests/lowered.h"
#include "tests/study_fixture.h"

using namespace expc;

namespace {

using Kind = plan::Claim::Kind;
using Slugs = std::vector<std::string>;

plan::Plan treePlan(const std::string& text) {
  check::Fixture fixture(text, {});
  auto plan = lower::compile(fixture.program, {}, nullptr, fixture.emitter);
  REQUIRE_MESSAGE(plan.has_value(), fixture.text());
  auto read = plan::planFromJson(plan::toJson(*plan));
  REQUIRE_MESSAGE(bool(read), llvm::toString(read.takeError()));
  CHECK(plan::toJson(*read) == plan::toJson(*plan));
  return *plan;
}

Slugs treeSlugs(const std::string& text) {
  check::Fixture fixture(text, {});
  points::verify(fixture.program, {}, fixture.emitter);
  return fixture.slugs();
}

/// With one number of GPUs there is none to compare with.
std::string treeStudy(const std::string& claim, const std::string& gpus = "{ 1, 2, 4 }") {
  const bool several = gpus != "{ 2 }";
  return check::jobStudy("factor gpus in " + gpus + (several ? " baseline 1" : "") +
                         " factor batch in { 16, 32, 64 } baseline 16 compare gain = speedup(step_time) over batch " +
                         (several ? "compare growth = ratio(step_time) over gpus " : "") + "criterion c: " + claim +
                         " with confidence 95% measure step_time, accuracy");
}

/// "all(any(0 2) any(1 3))", with the assertion behind each cell's number.
std::string treeOf(const plan::Criterion& criterion, const plan::Claim& claim) {
  if (claim.kind == Kind::Cell) {
    const plan::Cell& cell = criterion.cells[claim.cell];
    return "batch" + std::to_string(cell.levels[1]) + ":" + std::to_string(cell.assertion);
  }
  std::string text = claim.kind == Kind::ForAll   ? "all("
                     : claim.kind == Kind::Exists ? "any("
                                                  : std::to_string(claim.least) + " of(";
  for (const plan::Claim& child : claim.children) {
    if (text.back() != '(') text += " ";
    text += treeOf(criterion, child);
  }
  return text + ")";
}
std::string treeOf(const std::string& claim, const std::string& gpus = "{ 1, 2 }") {
  const plan::Plan plan = treePlan(treeStudy(claim, gpus));
  return treeOf(plan.criteria[0], plan.criteria[0].claim);
}

}  // namespace

TEST_CASE("one assertion writes a plan without assertions") {
  const plan::Plan plan = treePlan(treeStudy("forall *: gain >= 1x"));
  CHECK(plan.criteria[0].assertions.empty());
  CHECK(plan.criteria[0].bound.text == ">= 1x");
  CHECK(plan.criteria[0].claim.children.size() == 6);
}

TEST_CASE("and and or join the cells of one combination of levels") {
  CHECK(treeOf("forall batch: exists gpus: gain >= 1x or gain <= 0.5x") ==
        "all(any(any(batch1:0 batch1:1) any(batch1:0 batch1:1)) any(any(batch2:0 batch2:1) any(batch2:0 batch2:1)))");
  // `and` binds more tightly, and parentheses group.
  CHECK(treeOf("exists *: gain > 3x or gain > 1x and gain < 2x", "{ 2 }") ==
        "any(any(batch1:0 all(batch1:1 batch1:2)) any(batch2:0 all(batch2:1 batch2:2)))");
  CHECK(treeOf("exists *: (gain > 3x or gain > 1x) and gain < 2x", "{ 2 }") ==
        "any(all(any(batch1:0 batch1:1) batch1:2) all(any(batch2:0 batch2:1) batch2:2))");
  CHECK(treeOf("(forall *: gain > 1x) or (exists *: gain > 2x)", "{ 2 }") ==
        "any(all(batch1:0 batch2:0) any(batch1:1 batch2:1))");
}

TEST_CASE("a factor that one assertion selects may be quantified for another") {
  CHECK(treeOf("forall gpus, batch where batch != 16: gain >= 1x or gain[batch = 64] >= 2x", "{ 2 }") ==
        "all(any(batch1:0 batch2:1) any(batch2:0 batch2:1))");
  CHECK(treeOf("forall *: gain >= 1x or gain[batch = 64] >= 2x", "{ 2 }") ==
        "all(any(batch1:0 batch2:1) any(batch2:0 batch2:1))");
  CHECK(treeSlugs(treeStudy("forall gpus, batch: gain[batch = 32] >= 1x or gain[batch = 64] >= 2x")) ==
        Slugs{"quantified-twice"});
}

TEST_CASE("infeasible is about the points of the other parts, and its cells stand last") {
  const plan::Plan plan = treePlan(treeStudy("forall *: infeasible or gain >= 1x", "{ 2 }"));
  const plan::Criterion& criterion = plan.criteria[0];
  CHECK(treeOf(criterion, criterion.claim) == "all(any(batch1:0 batch1:1) any(batch2:0 batch2:1))");
  REQUIRE(criterion.cells.size() == 4);
  CHECK(criterion.cells[0].assertion == 1);
  CHECK(criterion.cells[3].assertion == 0);
  CHECK(criterion.assertions[0].infeasible);
  CHECK(criterion.assertions[1].unit == "x");
  CHECK_FALSE(criterion.infeasible);
  CHECK(treeOf("forall gpus: infeasible or gain[batch = 64] >= 1x", "{ 2 }") == "all(any(batch2:0 batch2:1))");
}

TEST_CASE("at least k of counts the combinations of levels, and rounds shares up") {
  CHECK(treeOf("at least 1 of batch, gpus: gain >= 1x", "{ 2 }") == "1 of(batch1:0 batch2:0)");
  CHECK(treeOf("at least 60% of batch, gpus: gain >= 1x", "{ 2 }") == "2 of(batch1:0 batch2:0)");
  CHECK(treeOf("at least 51% of *: gain >= 1x", "{ 1, 2 }") == "3 of(batch1:0 batch2:0 batch1:0 batch2:0)");
  CHECK(treeSlugs(treeStudy("at least 9 of *: gain >= 1x")) == Slugs{"out-of-range"});
  CHECK(treeSlugs(treeStudy("at least 1% of *: gain >= 1x")) == Slugs{"plain-quantifier"});
  CHECK(treeSlugs(treeStudy("at least 0 of *: gain >= 1x")) == Slugs{"out-of-range"});
}

TEST_CASE("a level at which one part has no value is refused") {
  CHECK(treeSlugs(treeStudy("forall *: gain >= 1x or growth <= 1x")) == Slugs{"level-without-part"});
  CHECK(treeSlugs(treeStudy("forall where gpus > 1 and batch > 16: gain >= 1x or growth <= 1x")).empty());
}

TEST_CASE(
    "claims that their bounds settle are warned of, and criteria that exclude each other only if both must hold") {
  CHECK(treeSlugs(treeStudy("forall *: gain >= 1x or gain <= 1x")) == Slugs{"settled-claim"});
  CHECK(treeSlugs(treeStudy("forall *: gain > 1x or gain < 1x")).empty());
  CHECK(treeSlugs(treeStudy("forall *: gain >= 2x and gain <= 1x")) == Slugs{"settled-claim"});
  const std::string other = " with confidence 95% criterion d: forall *: gain <= 0.9x";
  CHECK(treeSlugs(treeStudy("forall *: gain >= 1x" + other)) == Slugs{"contradicting-criteria"});
  CHECK(treeSlugs(treeStudy("forall *: gain >= 1x and gain <= 3x" + other)) == Slugs{"contradicting-criteria"});
  CHECK(treeSlugs(treeStudy("forall *: gain >= 1x or gain <= 0.5x" + other)).empty());
}
