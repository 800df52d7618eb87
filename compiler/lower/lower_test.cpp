#include "compiler/lower/lower.h"

#include <doctest/doctest.h>

#include <random>
#include <set>

#include "tests/lowered.h"
#include "tests/study_fixture.h"

using namespace expc;

namespace {

/// A plan of the only study, with no error allowed.
plan::Plan planOf(const std::string& text, const expand::Selection& selection = {}, std::optional<int> gpus = {}) {
  check::Fixture fixture(text);
  check::System system = check::System::unknown("here");
  if (gpus) system.set("gpus", check::Value::number(*gpus));
  auto plan = lower::compile(fixture.program, selection, gpus ? &system : nullptr, fixture.emitter);
  REQUIRE_MESSAGE(plan.has_value(), fixture.text());
  return *plan;
}

std::vector<std::string> slugsOf(const std::string& text, const expand::Selection& selection = {}) {
  check::Fixture fixture(text);
  CHECK_MESSAGE(fixture.emitter.errors() == 0, fixture.text());
  points::verify(fixture.program, selection, fixture.emitter);
  return fixture.slugs();
}

std::set<std::string> ids(const plan::Plan& plan) {
  std::set<std::string> result;
  for (const plan::Point& point : plan.points) result.insert(point.id);
  return result;
}

uint64_t removedOf(const plan::Plan& plan) {
  uint64_t count = 0;
  for (const plan::RemovedGroup& group : plan.removed) count += group.count;
  return count;
}

const std::string kMeasure = " measure step_time ";

}  // namespace

TEST_CASE("each limit of what may disturb a trial reaches the plan, changes its digest, and is read back") {
  const std::string body = "factor gpus in { 1 }" + kMeasure;
  const plan::Plan plain = planOf(check::jobStudy(body));
  CHECK(plain.design.validity == plan::Validity{});
  const std::vector<std::pair<std::string, std::string>> written = {
      {"other_cpu", "5%"}, {"other_gpu", "1"},   {"throttled", "2%"},     {"clock_drop", "10%"},
      {"ecc_errors", "3"}, {"swapped", "16MiB"}, {"page_faults", "1000"}, {"pressure", "1%"}};
  CHECK(written.size() == plan::kLimits.size());
  expand::Selection all;
  for (const auto& [name, value] : written) {
    CAPTURE(name);
    const plan::Plan one = planOf(check::jobStudy(body), {{}, {}, {"design." + name + "=" + value}});
    CHECK(one.design.validity.limits.count(name) == 1);
    CHECK(one.digest != plain.digest);
    all.overrides.push_back("design." + name + "=" + value);
  }
  all.overrides.push_back("design.repeat_disturbed=7");
  const plan::Plan full = planOf(check::jobStudy(body), all);
  CHECK(full.design.validity.attempts == 7);
  CHECK(full.design.validity.limits.size() == plan::kLimits.size());
  CHECK(full.design.validity.limit("swapped") == 16.0 * 1024 * 1024);
  auto read = plan::planFromJson(plan::toJson(full));
  REQUIRE(read);
  CHECK(read->design.validity == full.design.validity);
}

TEST_CASE("a point's id comes from what it means") {
  auto id = [](const std::string& body) {
    plan::Plan plan = planOf(check::jobStudy(body + kMeasure));
    return plan.points.at(0).id;
  };
  std::string base = id("factor gpus in { 1 }");
  CHECK(base.size() == 16);
  // A value that equals the default is left out of the id, however it is given.
  CHECK(id("factor gpus in { 1 } factor batch in { 32 }") == base);
  CHECK(id("factor batch in { 32 }") == base);
  CHECK(id("factor size in { 224px }") == base);
  CHECK(id("factor gpus in { 2 }") != base);
  CHECK(id("factor rate in { 0.25 }") == id("factor rate in { 1 / 4 }"));
  CHECK(id("factor rate in { 0.25 }") != id("factor rate in { 0.26 }"));
}

TEST_CASE("a new level, a factor at its default and another order change no other id") {
  std::string rule = " require fits: batch * gpus <= 128 ";
  std::string a = "factor gpus in { 1, 2, 4 } factor batch in { 32, 64 }",
              b = "factor batch in { 64, 32 } factor gpus in { 4, 2, 1 }";
  auto first = ids(planOf(check::jobStudy(a + rule + kMeasure)));
  CHECK(first.size() == 5);
  CHECK(ids(planOf(check::jobStudy(kMeasure + rule + b))) == first);
  CHECK(ids(planOf(check::jobStudy(a + rule + kMeasure + "factor method in { none }"))) == first);
  auto more =
      ids(planOf(check::jobStudy("factor gpus in { 8, 1, 2, 4 } factor batch in { 16, 32, 64 }" + rule + kMeasure)));
  CHECK(std::includes(more.begin(), more.end(), first.begin(), first.end()));
}

TEST_CASE("the size is the product without what was removed, for random studies") {
  std::mt19937 random(11);
  auto below = [&](int n) { return int(random() % n); };
  int compiled = 0;
  for (int round = 0; round < 60; ++round) {
    int gpus = 1 + below(5), batch = 1 + below(6), methods = 1 + below(3);
    std::string method[] = {"none", "lora", "qlora"};
    std::string levels;
    for (int i = 0; i < methods; ++i) levels += (i ? ", " : "") + method[i];
    std::vector<std::string> parts = {fmt::format("factor gpus in 1..{}", gpus),
                                      fmt::format("factor batch in 1..{}", batch),
                                      "factor method in { " + levels + " }"};
    int limit = 1 + below(30), forbidden = 1 + below(5);
    parts.push_back(fmt::format("require a: gpus * batch <= {}", limit));
    parts.push_back(fmt::format("exclude b: gpus == {} and method == lora", forbidden));
    parts.push_back("require c: gpus + batch >= 2 or method != none");
    std::shuffle(parts.begin(), parts.end(), random);
    std::string body;
    for (const std::string& part : parts) body += part + " ";
    uint64_t expected = 0;
    for (int g = 1; g <= gpus; ++g)
      for (int b = 1; b <= batch; ++b)
        for (int m = 0; m < methods; ++m) expected += g * b <= limit && !(g == forbidden && m == 1);
    plan::Plan plan = planOf(check::jobStudy(body + kMeasure));
    CHECK(plan.product == uint64_t(gpus) * batch * methods);
    CHECK(plan.points.size() == expected);
    CHECK(plan.points.size() + removedOf(plan) == plan.product);
    CHECK(ids(plan).size() == plan.points.size());
    ++compiled;
  }
  CHECK(compiled == 60);
}

TEST_CASE("a huge product with tight rules stays cheap") {
  std::string body =
      "factor batch in 1..1000 factor gpus in 1..64 factor size in 1px..4000px by 1px require batch == 7 "
      "require gpus == 2 require size <= 3px" +
      kMeasure;
  plan::Plan plan = planOf(check::jobStudy(body));
  CHECK(plan.product == 1000ull * 64 * 4000);
  CHECK(plan.points.size() == 3);
  CHECK(removedOf(plan) + 3 == plan.product);
}

TEST_CASE("a million points are looked at one by one, but not written into a plan") {
  check::Fixture fixture(
      check::jobStudy("factor batch in 1..1024 factor gpus in 1..64 factor rank in 1..16 factor method in "
                      "{ none, lora } exclude gpus == 64 and batch > 1000" +
                      kMeasure));
  CHECK(points::verify(fixture.program, {}, fixture.emitter));
  CHECK(!lower::compile(fixture.program, {}, nullptr, fixture.emitter));
  CHECK(fixture.reported("too-many-points"));
}

TEST_CASE("inactive parameters are absent") {
  plan::Plan plan = planOf(check::jobStudy("factor method in { none, lora }" + kMeasure));
  REQUIRE(plan.points.size() == 2);
  CHECK(plan.points[0].parameters.get("rank") == nullptr);
  CHECK(plan.points[1].parameters.getInteger("rank") == 8);
  CHECK(plan.points[1].parameters.getString("method") == llvm::StringRef("lora"));
  CHECK(plan.points[1].parameters.getInteger("size") == 224);
  CHECK(plan.points[1].parameters.getNumber("rate") == 0.5);
  CHECK(plan.points[0].parameters.get("data")->getAsObject()->getArray("fake")->front().getAsInteger() == 10);
}

TEST_CASE("comparisons point the right way") {
  plan::Plan plan = planOf(check::jobStudy(
      "factor gpus in { 1, 2, 4 } baseline 1 compare a = speedup(step_time) over gpus compare b = speedup(speed) over "
      "gpus "
      "compare c = ratio(step_time) over gpus against 2 compare d = difference(accuracy) over gpus "
      "compare e = efficiency(speed) over gpus compare f = speedup(step_time) over gpus against previous"));
  std::string one = plan.points[0].id, two = plan.points[1].id, four = plan.points[2].id;
  auto ratio = [](const plan::TermPtr& term) {
    const auto& node = std::get<plan::OperationTerm>(term->node);
    CHECK((node.op == plan::OperationTerm::Op::Ratio));
    return std::pair(std::get<plan::MetricTerm>(node.operands[0]->node).place.point,
                     std::get<plan::MetricTerm>(node.operands[1]->node).place.point);
  };
  CHECK(ratio(plan.comparisons[0].cells.at(0).term) == std::pair(one, two));
  CHECK(plan.comparisons[0].cells.size() == 2);
  CHECK(plan.comparisons[0].unit == "x");
  CHECK(ratio(plan.comparisons[1].cells.at(1).term) == std::pair(four, one));
  CHECK(ratio(plan.comparisons[2].cells.at(0).term) == std::pair(one, two));
  const auto& difference = std::get<plan::OperationTerm>(plan.comparisons[3].cells.at(0).term->node);
  CHECK((difference.op == plan::OperationTerm::Op::Difference));
  CHECK(std::get<plan::MetricTerm>(difference.operands[0]->node).place.point == two);
  CHECK(plan.comparisons[3].cells[0].estimator == plan::Estimator::PairedDifference);
  CHECK((plan.comparisons[3].cells[0].kind == plan::TrialKind::Quality));
  const auto& scale = std::get<plan::ScaleTerm>(plan.comparisons[4].cells.at(1).term->node);
  CHECK(scale.factor == 0.25);
  CHECK(ratio(scale.term) == std::pair(four, one));
  CHECK(ratio(plan.comparisons[5].cells.at(1).term) == std::pair(two, four));
  CHECK((plan.comparisons[5].cells[1].points == std::vector<plan::Place>{four, two}));
  CHECK(plan.comparisons[5].text == "speedup(step_time) over gpus against previous");
}

TEST_CASE("partners that a rule removed are counted") {
  std::string body =
      "factor gpus in { 1, 2 } factor method in { none, lora } baseline none "
      "exclude alone: method == none and gpus == 2 because \"it fits on one\" "
      "compare gain = speedup(step_time) over method measure accuracy";
  plan::Plan plan = planOf(check::jobStudy(body));
  CHECK(plan.comparisons[0].cells.size() == 1);
  CHECK(plan.comparisons[0].without_partner == 1);
  CHECK(plan.comparisons[0].without_partner_why == "removed by rule 'alone' (it fits on one)");
  CHECK(slugsOf(check::jobStudy(body)) == std::vector<std::string>{"some-without-partner"});
  REQUIRE(plan.removed.size() == 1);
  CHECK(plan.removed[0].because == "it fits on one");
  CHECK(plan.removed[0].examples == std::vector<std::vector<std::string>>{{"2", "none"}});
}

TEST_CASE("criteria become trees over cells") {
  plan::Plan plan = planOf(
      check::jobStudy("factor gpus in 1..3 baseline 1 factor method in { none, lora } "
                      "criterion c: exists method where method == lora: forall gpus where gpus > 1: accuracy >= 90% "
                      "criterion one: forall gpus: accuracy[method = none] within 10% .. 20% "
                      "compare gain = speedup(step_time) over gpus "
                      "criterion all: forall *: gain >= 1x with confidence 95%"));
  const plan::Criterion& nested = plan.criteria.at(0);
  CHECK(nested.cells.size() == 2);
  CHECK(nested.claim.kind == plan::Claim::Kind::Exists);
  REQUIRE(nested.claim.children.size() == 1);
  CHECK(nested.claim.children[0].kind == plan::Claim::Kind::ForAll);
  CHECK(nested.claim.children[0].children.size() == 2);
  CHECK(nested.domain == "gpus 2, 3 of 1..3; method lora of none, lora");
  CHECK(plan.criteria[1].bound.relation == plan::Relation::Within);
  CHECK(plan.criteria[1].bound.low == 0.1);
  CHECK(plan.criteria[1].bound.high == 0.2);
  CHECK(plan.criteria[1].domain == "gpus 1..3; method none");
  CHECK(plan.criteria[2].cells.size() == 4);
  CHECK(plan.criteria[2].confidence == 0.95);
  CHECK(plan.criteria[2].unit == "x");
  CHECK(plan.criteria[2].text == "forall *: gain >= 1x with confidence 95%");
  CHECK(plan.criteria[2].domain == "gpus 2, 3; method none, lora");
  CHECK(plan.criteria[2].where == "gain = speedup(step_time) over gpus against 1");
  CHECK(plan.criteria[1].where.empty());
}

TEST_CASE("presets and overrides restrict, in order") {
  std::string text = check::jobStudy(
      "factor gpus in 1..4 baseline 1 factor method in { none, lora } compare gain = speedup(step_time) over gpus "
      "criterion c: forall gpus: gain[method = lora] >= 1x "
      "preset quick { batch = 8 only gpus in { 1, 2 } design { timed { repeat 7 } } criterion d: forall *: accuracy >= "
      "90% }");
  plan::Plan full = planOf(text);
  CHECK(full.points.size() == 8);
  plan::Plan quick = planOf(text, {{}, {"quick"}, {}});
  CHECK(quick.points.size() == 4);
  CHECK(quick.points[0].parameters.getInteger("batch") == 8);
  CHECK(quick.factors[0].declared == std::vector<std::string>{"1..4"});
  CHECK(quick.factors[0].levels.size() == 2);
  CHECK(quick.criteria[0].domain == "gpus 2 of 1..4; method lora");
  CHECK(quick.criteria.size() == 2);
  CHECK(quick.metrics.size() == 2);
  CHECK(quick.design.kinds[0].repeat == 7);
  CHECK(quick.design.kinds[0].settings.getInteger("steps") == 5);
  plan::Plan over =
      planOf(text, {{}, {"quick"}, {"batch=16", "gpus={1,4}", "design.timed.repeat=12", "design.seed=9"}});
  CHECK(over.points[0].parameters.getInteger("batch") == 16);
  CHECK(over.factors[0].levels[1].label == "4");
  CHECK(over.design.kinds[0].repeat == 12);
  CHECK(over.design.seed == 9);
  // If the selection drops the baseline, or the only level that a claim asks about, the claim is not asked.
  plan::Plan alone = planOf(text, {{}, {}, {"gpus=2"}});
  CHECK(alone.criteria[0].not_asked);
  CHECK(alone.comparisons[0].without_partner_why == "the selection leaves out gpus=1");
  CHECK(!alone.factors[0].baseline);
  CHECK(planOf(text, {{}, {}, {"method=none"}}).criteria[0].not_asked);
}

TEST_CASE("a restriction of factors changes no id; the digest follows the meaning") {
  std::string text = check::jobStudy("factor gpus in 1..4 factor method in { none, lora }" + kMeasure);
  auto all = ids(planOf(text));
  auto some = ids(planOf(text, {{}, {}, {"gpus=2..3"}}));
  CHECK(some.size() == 4);
  CHECK(std::includes(all.begin(), all.end(), some.begin(), some.end()));
  CHECK(planOf(text).digest == planOf("// a comment\n" + text).digest);
  CHECK(planOf(text).digest != planOf(text, {{}, {}, {"gpus=2"}}).digest);
}

TEST_CASE("the machine only marks points") {
  std::string text = check::jobStudy(
      "factor gpus in 1..4 baseline 1 require cards: gpus <= system.gpus because \"too few cards\" "
      "compare gain = speedup(step_time) over gpus criterion c: forall gpus: gain >= 1x with confidence 95% measure "
      "accuracy");
  plan::Plan here = planOf(text, {}, 2), anywhere = planOf(text);
  CHECK(here.points.size() == 4);
  CHECK(here.points[1].unavailable.empty());
  CHECK(here.points[2].unavailable == "too few cards");
  CHECK(here.criteria[0].domain == "gpus 2 of 1..4");
  CHECK(here.comparisons[0].cells.size() == 1);
  CHECK(here.digest == anywhere.digest);
  CHECK(here.removed.empty());
  CHECK(planOf(text, {}, 0).criteria[0].not_asked);
  CHECK(slugsOf(text).empty());
}

TEST_CASE("repetitions decide what a criterion can show") {
  auto study = [](const std::string& levels, int repeat, const std::string& quantifier) {
    return std::string(check::kJob) + "study s { workload job() factor gpus in " + levels +
           " baseline 1 compare gain = speedup(step_time) over gpus criterion c: " + quantifier +
           " gpus: gain >= 1x with confidence 95% design { timed { repeat " + std::to_string(repeat) + " steps 5 } } }";
  };
  using Slugs = std::vector<std::string>;
  CHECK(slugsOf(study("{ 1, 2 }", 5, "forall")) == Slugs{"cannot-pass"});
  CHECK(slugsOf(study("{ 1, 2 }", 6, "forall")).empty());
  CHECK(slugsOf(study("{ 1, 2, 3 }", 6, "forall")) == Slugs{"cannot-fail"});
  CHECK(slugsOf(study("{ 1, 2, 3 }", 7, "forall")).empty());
  CHECK(slugsOf(study("1..5", 7, "forall")) == Slugs{"cannot-fail"});
  CHECK(slugsOf(study("1..5", 8, "forall")).empty());
  // For `exists` passing and failing change places.
  CHECK(slugsOf(study("1..5", 7, "exists")) == Slugs{"cannot-pass"});
  CHECK(slugsOf(study("1..5", 8, "exists")).empty());
  // An override is judged by the design that results from it.
  CHECK(slugsOf(study("{ 1, 2 }", 10, "forall"), {{}, {}, {"design.timed.repeat=3"}}) == Slugs{"cannot-pass"});
}

TEST_CASE("an empty grid names a smallest set of rules") {
  check::Fixture fixture(check::jobStudy(
      "factor gpus in 1..4 factor batch in { 32, 64 } require a: gpus >= 3 "
      "require b: batch <= 64 require c: gpus <= 2 require d: batch >= 33 measure accuracy, step_time"));
  points::verify(fixture.program, {}, fixture.emitter);
  REQUIRE_MESSAGE(fixture.collector.diagnostics.size() == 1, fixture.text());
  CHECK(fixture.slugs()[0] == "empty-grid");
  CHECK(fixture.collector.diagnostics[0].notes.size() == 2);
}

TEST_CASE("paths are collected as they are written, from where they are written") {
  std::map<std::string, std::string> files = {
      {"dir/shared/job.exp",
       "enum source { real(path) }\nworkload job { param data : source = real(\"set\") metric t : Time lower }"}};
  check::Fixture fixture(
      "import \"shared/job.exp\"\nstudy s { workload job.job() factor data in { real(\"mine\"), real(\"./set\") } "
      "measure t design { repeat 6 steps 1 } }",
      files);
  auto plan = lower::compile(fixture.program, {}, {}, fixture.emitter);
  REQUIRE_MESSAGE(plan.has_value(), fixture.text());
  CHECK(plan->workloads[0].name == "job.job");
  CHECK(plan->data_paths == std::vector<std::string>{"mine", "set"});
  check::Fixture fallback(
      "import \"shared/job.exp\"\nstudy s { workload job.job() measure t design { repeat 6 steps 1 } }", files);
  plan = lower::compile(fallback.program, {}, {}, fallback.emitter);
  REQUIRE_MESSAGE(plan.has_value(), fallback.text());
  CHECK(plan->data_paths == std::vector<std::string>{"shared/set"});
  CHECK(plan->points.size() == 1);
  CHECK(llvm::StringRef(plan->root).ends_with("/dir"));
}

TEST_CASE("efficiency of a time follows what the workload says of each point") {
  const plan::Plan plan = planOf(
      "workload train { param gpus : int in 1..4 = 1 with strong scaling when total > 0 param total : int = 0 "
      "metric wall : Time lower } "
      "study s { workload train factor gpus in { 1, 2 } baseline 1 factor total in { 0, 64 } "
      "compare scaling = efficiency(wall) over gpus design { timed { repeat 8 steps 1 } } }");
  REQUIRE(plan.comparisons[0].cells.size() == 2);
  for (const plan::Cell& cell : plan.comparisons[0].cells) {
    const bool strong = cell.levels[1] == 1;
    CHECK(std::holds_alternative<plan::ScaleTerm>(cell.term->node) == strong);
  }
}
