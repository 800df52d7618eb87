#include <doctest/doctest.h>

#include <random>
#include <set>

#include "compiler/points/lints.h"
#include "tests/study_fixture.h"

using namespace expc;
using expand::kAbsent;
using expand::kOpen;

namespace {

using Indices = std::vector<unsigned>;
using Slugs = std::vector<std::string>;

struct Expanded {
  explicit Expanded(const std::string& body) : fixture(check::jobStudy(body + " measure step_time, accuracy")) {
    REQUIRE_MESSAGE(fixture.emitter.errors() == 0, fixture.text());
    selected = expand::Selected::whole(*fixture.program.studies[0]);
    compile();
  }
  void compile() { space = expand::Space::compile(selected, fixture.emitter); }

  std::vector<Indices> points() {
    std::vector<Indices> result;
    points::Survey survey(*space);
    const expand::Walk walk = expand::walk(*space, {.count_removed = true}, [&](expand::Levels point) {
      survey.seen.add(point);
      result.emplace_back(point.begin(), point.end());
      return true;
    });
    CHECK((walk.end == expand::Space::End::Done));
    product = walk.product;
    removed = walk.removed;
    points::Reported reported;
    const points::Lints lints{*space, survey, "", reported, fixture.sources, fixture.emitter};
    result.empty() ? lints.empty(space->study().range) : lints.grid();
    return result;
  }
  uint64_t removedInAll() const {
    uint64_t sum = 0;
    for (const auto& one : removed) sum += one.count;
    return sum;
  }
  Slugs lints() {
    if (space) points();
    return fixture.slugs();
  }
  /// Points as sets of labels, so that the order of declarations does not matter.
  std::set<std::string> labels() {
    std::set<std::string> result;
    for (const Indices& point : points()) {
      std::set<std::string> parts;
      for (unsigned i = 0; i < point.size(); ++i)
        if (point[i] != kAbsent)
          parts.insert(space->study().factors[i].name + "=" + space->study().factors[i].levels[point[i]].label);
      std::string text;
      for (const std::string& part : parts) text += part + " ";
      result.insert(text);
    }
    return result;
  }

  check::Fixture fixture;
  expand::Selected selected;
  std::unique_ptr<expand::Space> space;
  uint64_t product = 0;
  std::vector<expand::Removed> removed;
};

}  // namespace

TEST_CASE("points come in declared order") {
  Expanded study("factor gpus in { 2, 1 } factor batch in { 32, 64 } exclude gpus == 2 and batch == 64");
  CHECK(study.points() == std::vector<Indices>{{0, 0}, {1, 0}, {1, 1}});
  CHECK(study.product == 4);
}

TEST_CASE("a rule is applied as soon as its factors are chosen, and counts all that it cuts off") {
  Expanded study(
      "factor gpus in 1..10 factor batch in 1..1000 factor method in { none, lora } require gpus <= 2 exclude batch > "
      "1");
  CHECK(study.points().size() == 4);
  CHECK(study.removed[0].count == 8 * 1000 * 2);
  CHECK(study.removed[1].count == 2 * 999 * 2);
  CHECK(study.removed[0].examples.at(0) == Indices{2, kOpen, kOpen});
}

TEST_CASE("a study without factors is one point") {
  Expanded study("");
  CHECK(study.points().size() == 1);
  CHECK(study.product == 1);
  CHECK(study.space->contains({}));
  CHECK(study.fixture.slugs().empty());
}

TEST_CASE("rules about the system play no part") {
  Expanded study("factor gpus in 1..4 require system.gpus > 1000 exclude gpus > system.gpus");
  CHECK(study.points().size() == 4);
  CHECK(study.fixture.slugs().empty());
}

TEST_CASE("a factor that is not active multiplies nothing") {
  // `method` decides whether `rank` is active, and is declared after it.
  Expanded study("factor rank in { 8, 64 } factor method in { none, lora, qlora } factor gpus in 1..2");
  CHECK(study.space->order() == std::vector<unsigned>{1, 0, 2});
  CHECK(study.points() == std::vector<Indices>{{kAbsent, 0, 0},
                                               {kAbsent, 0, 1},
                                               {0, 1, 0},
                                               {0, 1, 1},
                                               {1, 1, 0},
                                               {1, 1, 1},
                                               {0, 2, 0},
                                               {0, 2, 1},
                                               {1, 2, 0},
                                               {1, 2, 1}});
  CHECK(study.product == 10);
  CHECK(study.space->contains(Indices{kAbsent, 0, 1}));
  CHECK(!study.space->contains(Indices{0, 0, 1}));
  CHECK(!study.space->contains(Indices{kAbsent, 1, 1}));
  using Kind = expand::Obstacle::Kind;
  CHECK((study.space->whyNot(Indices{0, 0, 1})->kind == Kind::Inactive));
  CHECK((study.space->whyNot(Indices{kAbsent, 1, 1})->kind == Kind::Unchosen));
  CHECK(!study.space->whyNot(Indices{0, 1, 1}));
}

TEST_CASE("a study narrows where a factor varies; elsewhere it has its default, which only the workload sees") {
  Expanded study(
      "factor batch in { 16, 64 } when gpus > 1 factor gpus in { 1, 2 } exclude (batch ?? 0) == 0 and gpus == 2");
  CHECK(study.points() == std::vector<Indices>{{kAbsent, 0}, {0, 1}, {1, 1}});
  expand::Assignment at(study.selected);
  at.set(Indices{kAbsent, 0});
  REQUIRE(!at.resolve());
  unsigned batch = unsigned(study.space->study().findParameter("batch"));
  REQUIRE(at.value(batch));
  CHECK(*at.value(batch) == check::Value::number(32));
  // The study's own rule sees no value where the factor is not active.
  CHECK(Expanded("factor batch in { 16, 64 } when gpus > 1 factor gpus in { 1, 2 } require batch < 100").lints() ==
        Slugs{"inactive-parameter"});
}

TEST_CASE("factors may depend on each other in a chain") {
  Expanded study(
      "factor class in { small, large } when (rank ?? 0) == 64 factor rank in { 8, 64 } factor method in { none, lora "
      "} "
      "factor gpus in 1..3 exclude gpus == 2");
  // none has one point, lora with rank 8 one, lora with rank 64 two; times the number of gpus.
  CHECK(study.points().size() == 8);
  CHECK(study.product == 12);
  CHECK(study.removedInAll() == 4);
}

TEST_CASE("what a cut branch would have held is counted with activity") {
  Expanded study(
      "factor gpus in 1..4 factor method in { none, lora, qlora } factor rank in { 8, 16, 64 } factor batch in 1..5 "
      "require gpus != 2 exclude gpus == 3 and method == lora");
  size_t points = study.points().size();
  CHECK(study.product == 4 * 7 * 5);
  CHECK(study.removed[0].count == 7 * 5);
  CHECK(study.removed[1].count == 3 * 5);
  CHECK(points + study.removedInAll() == study.product);
}

TEST_CASE("factors in lockstep are one") {
  Expanded study(
      "factor (batch, size) in { (16, 64px), (32, 224px), (64, 64px) } factor gpus in 1..2 exclude batch == 64");
  CHECK(study.points() == std::vector<Indices>{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  CHECK(study.product == 6);
  CHECK(study.fixture.slugs() == Slugs{"level-never-occurs"});
}

TEST_CASE("a rule needs a value wherever its own factors can stand, whatever other rules exclude") {
  // The order of declarations makes no difference.
  for (const char* rules :
       {"exclude gpus == 3 require 1 / (gpus - 3) < 9", "require 1 / (gpus - 3) < 9 exclude gpus == 3"})
    CHECK(Expanded(std::string("factor gpus in 1..4 ") + rules).lints() == Slugs{"division-by-zero"});
  Expanded study("factor gpus in 1..4 factor batch in 1..2 require 1 / (gpus - 3) < 9");
  CHECK(!study.space);
  CHECK(study.fixture.collector.diagnostics[0].notes.back().message == "at gpus=3");
}

TEST_CASE("a rule over more combinations than are tabulated is asked at each point") {
  Expanded study(
      "factor batch in 1..1024 factor gpus in 1..64 factor size in 1px..32px by 1px require gpus == 1 require size <= "
      "2px "
      "require batch * gpus + size / 1px <= 10");
  CHECK(study.points().size() == 9 + 8);
  CHECK(study.removedInAll() + 17 == study.product);
  Expanded failing(
      "factor batch in 1..1024 factor gpus in 1..64 factor size in 1px..32px by 1px require batch == 3 require size == "
      "2px "
      "require gpus / (batch - 3 + size / 1px - 2) > 0");
  REQUIRE(failing.space);
  CHECK((failing.space->forEach([](expand::Levels) { return true; }) == expand::Space::End::Failed));
  failing.space->reportFailure(failing.fixture.emitter);
  CHECK(failing.fixture.slugs() == Slugs{"division-by-zero"});
}

TEST_CASE("lints") {
  CHECK(Expanded("factor gpus in 1..4 require gpus < 9").lints() == Slugs{"useless-rule"});
  CHECK(Expanded("factor gpus in 1..4 require gpus < 3").lints() == Slugs{"level-never-occurs"});
  CHECK(Expanded("factor gpus in 1..4 require gpus < 0").lints() == Slugs{"empty-grid"});
  CHECK(Expanded("factor gpus in 1..4 require batch == 32").lints().empty());
  CHECK(Expanded("factor gpus in 1..4 require batch == 33").lints() == Slugs{"empty-grid"});
  CHECK(Expanded("factor method in { none, lora } require rank == 8").lints() == Slugs{"inactive-parameter"});
  CHECK(Expanded("factor method in { none, lora } exclude method == lora and rank != 8").lints() ==
        Slugs{"useless-rule"});
  // A rule removes points even if another rule removes them as well.
  CHECK(Expanded("factor gpus in 1..4 require gpus < 4 exclude gpus == 4").lints() == Slugs{"level-never-occurs"});
}

TEST_CASE("a level that never occurs is blamed on the rules and the condition that leave it out") {
  Expanded study("factor method in { none, lora } factor rank in { 8, 64 } exclude method == lora");
  CHECK(study.lints() == Slugs{"level-never-occurs", "level-never-occurs"});
  const auto& notes = study.fixture.collector.diagnostics[1].notes;
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].message == "'rank' varies only if this is true");
  CHECK(notes[1].message == "this rule is the cause");
}

TEST_CASE("a smallest conflict misses no rule and needs each") {
  Expanded study(
      "factor gpus in 1..4 factor batch in 1..4 require gpus + batch > 6 require gpus < 3 require batch < 4 require "
      "gpus != 9");
  CHECK(study.points().empty());
  CHECK(*expand::minimalConflict(*study.space, study.selected.levels) == std::vector<unsigned>{0, 1});
  Expanded fine("factor gpus in 1..4");
  CHECK(!expand::minimalConflict(*fine.space, fine.selected.levels));
}

TEST_CASE("random studies: size, membership and order of declarations") {
  std::mt19937 random(7);
  auto below = [&](int n) { return int(random() % unsigned(n)); };
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> parts = {
        fmt::format("factor gpus in 1..{}", 1 + below(4)),
        fmt::format("factor (batch, size) in {{ (16, 64px), (32, 224px){} }}", below(2) ? ", (64, 64px)" : ""),
        below(2) ? "factor method in { none, lora }" : "factor method in { none, lora, qlora }",
        below(2) ? "factor rank in { 8, 64 }" : "factor rank in { 8, 16, 64 } when gpus > 1",
        fmt::format("factor class in {{ small, large }} when (rank ?? 0) > {}", below(70))};
    parts.push_back(fmt::format("require a: gpus * batch <= {}", 20 + below(200)));
    parts.push_back(fmt::format("exclude b: gpus == {} and method == lora", 1 + below(4)));
    parts.push_back(fmt::format("exclude c: (rank ?? 1) * gpus > {}", 30 + below(200)));
    std::set<std::string> first;
    for (int order = 0; order < 3; ++order) {
      std::string body;
      for (const std::string& part : parts) body += part + " ";
      Expanded study(body);
      REQUIRE_MESSAGE(study.space, study.fixture.text());
      std::vector<Indices> points = study.points();
      CHECK(points.size() + study.removedInAll() == study.product);
      // A limit one below the number of points is found before any point is visited.
      uint64_t visited = 0;
      const auto walk = [&](uint64_t most) {
        return expand::walk(*study.space, {.most_points = most}, [&](expand::Levels) { return ++visited > 0; }).end;
      };
      CHECK((points.empty() || walk(points.size() - 1) == expand::Space::End::TooMany));
      CHECK(visited == 0);
      CHECK((walk(points.size()) == expand::Space::End::Done));
      CHECK(visited == points.size());
      // `contains` agrees with the walk for every combination of levels, whether or not activity allows it.
      std::set<Indices> set(points.begin(), points.end());
      CHECK(set.size() == points.size());
      size_t found = 0;
      Indices at(study.space->width());
      auto all = [&](auto& self, size_t factor) -> void {
        if (factor == at.size()) {
          bool member = study.space->contains(at);
          CHECK(member == set.contains(at));
          CHECK(member == !study.space->whyNot(at));
          found += member;
          return;
        }
        for (unsigned level = 0; level <= study.space->study().factors[factor].levels.size(); ++level) {
          at[factor] = level == study.space->study().factors[factor].levels.size() ? kAbsent : level;
          self(self, factor + 1);
        }
      };
      all(all, 0);
      CHECK(found == points.size());
      std::set<std::string> labels = study.labels();
      if (order == 0) first = labels;
      CHECK(labels == first);
      std::shuffle(parts.begin(), parts.end(), random);
    }
  }
}
