// Plans of random studies can be read back by the runtime's strict reader.

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "compiler/lower/lower.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "tests/lowered.h"
#include "tests/study_fixture.h"

using namespace expc;

namespace {

/// Writes random studies from words that a user may write; most combinations are valid.
class Author {
 public:
  explicit Author(unsigned seed) : random_(seed) {}

  std::string study() {
    std::string text = R"(
enum method { none, lora }
workload job {
  param gpus : int in 1..64 = 1
  param rank : int in 0..256 = 8
  param method : method = none
  param rate : float in -10.0..10.0 = 0.5
  metric t : Time lower timed
  metric peak : Bytes lower timed exact
  metric speed : Images / Time higher timed
  metric acc : Share higher quality
  metric loss : float series lower quality
)";
    if (maybe()) text += fmt::format("  estimate peak = {}GiB - {}GiB * rank\n", number(0, 90), number(0, 9));
    if (maybe()) text += fmt::format("  estimate peak = {}MiB when method == lora\n", number(0, 3));
    text += "}\nstudy s {\n  workload job()\n";
    text += fmt::format("  factor rank in {{ {}, {}, {} }} baseline {}\n", 0, number(1, 9), number(10, 99), 0);
    if (maybe()) text += "  factor gpus in 1..4 baseline 1\n";
    if (maybe()) text += "  factor method in { none, lora } baseline none\n";
    if (maybe()) text += "  exclude rank > 20 because \"too many\"\n";
    derive(text);
    compare(text);
    claim(text);
    text += "  measure t, peak, speed, acc\n";
    design(text);
    return text + "}\n";
  }

 private:
  bool maybe() { return random_() % 2 == 0; }
  int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  std::string of(const std::vector<std::string>& words) { return words[random_() % words.size()]; }

  /// Adds derived metrics, each made of the one before; sometimes so many that terms nest deeply.
  void derive(std::string& text) {
    std::string last = "t";
    const int deep = number(0, 9) == 0 ? number(20, 90) : number(0, 4);
    for (int i = 0; i < deep; ++i) {
      text += fmt::format("  metric m{} = {}\n", i,
                          of({last + " * 2 + 1s", "max(" + last + ", 3s) - 1s", last + " + t + t", "-" + last}));
      last = fmt::format("m{}", i);
    }
    subjects_ = {"t", last, "peak"};
  }
  void compare(std::string& text) {
    text +=
        fmt::format("  compare gain = {}({}) over rank\n", of({"speedup", "ratio", "difference"}), of({"t", "peak"}));
    if (maybe()) text += fmt::format("  compare more = {}(acc) over rank\n", of({"ratio", "difference"}));
  }
  void claim(std::string& text) {
    const std::string confidence = maybe() ? fmt::format(" with confidence {}%", of({"90", "95", "99.9"})) : "";
    text += fmt::format("  criterion one: {} *: {} {} {}s{}\n", of({"forall", "exists"}), subjects_[random_() % 2],
                        of({"<=", ">", ">="}), number(1, 99), confidence);
    if (maybe()) text += "  criterion two: forall *: acc >= 90%\n";
    if (maybe()) text += "  criterion three: forall where rank == 0: infeasible\n";
  }
  void design(std::string& text) {
    const int repeat = number(6, 40);
    text += fmt::format("  design {{ timed {{ steps 5 repeat {}", repeat);
    if (number(0, 2) == 0)
      text += fmt::format("..{} until half_width(t) <= 1%", repeat + number(1, 9));
    else if (maybe())
      text += fmt::format(" looks at {}", number(1, repeat - 1));
    text +=
        fmt::format(" }} quality {{ repeat 2 epochs 1 }} seed {}{} }}\n", number(0, 99), maybe() ? " budget 2h" : "");
  }

  std::mt19937 random_;
  std::vector<std::string> subjects_;
};

}  // namespace

TEST_CASE("what is written is read: plans of 400 random studies") {
  unsigned written = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const std::string text = Author(seed).study();
    check::Fixture fixture(text);
    if (fixture.emitter.errors() > 0) continue;
    const auto plan = lower::compile(fixture.program, {}, nullptr, fixture.emitter);
    if (!plan) continue;
    ++written;
    CAPTURE(text);
    if (auto error = plan::validate(*plan)) FAIL_CHECK(llvm::toString(std::move(error)));
    const std::string json = base::canonicalJson(plan::toJson(*plan));
    auto value = base::parseJson(json);
    REQUIRE(value);
    auto read = plan::planFromJson(*value);
    REQUIRE(read);
    CHECK(base::canonicalJson(plan::toJson(*read)) == json);
  }
  CHECK(written > 200);
}

TEST_CASE("an estimate says nothing of points at which it is not above zero") {
  const std::string text = check::kJob;
  const size_t end = text.rfind('}');
  check::Fixture fixture(
      text.substr(0, end) +
      "estimate memory = 8GiB - 1GiB * rank }\nstudy s { workload job(method = lora) factor rank in { 4, 8, 16 } "
      "measure step_time design { timed { repeat 6 steps 5 } } }");
  const auto plan = lower::compile(fixture.program, {}, nullptr, fixture.emitter);
  REQUIRE_MESSAGE(plan.has_value(), fixture.text());
  CHECK(plan->points[0].estimates.size() == 1);
  CHECK(plan->points[1].estimates.empty());
  CHECK(plan->points[2].estimates.empty());
}

TEST_CASE("metrics that nest deeper than a plan holds are refused where they are written") {
  std::string metrics;
  for (int i = 0; i < 40; ++i)
    metrics += fmt::format("metric m{} = {} * 2 + 1s ", i, i == 0 ? "step_time" : fmt::format("m{}", i - 1));
  check::Fixture fixture(check::jobStudy("factor gpus in { 1, 2 } " + metrics + "measure step_time"));
  CHECK(fixture.reported("incomplete-metric"));
  CHECK(fixture.text().find("nests terms more than 64 deep") != std::string::npos);
}
