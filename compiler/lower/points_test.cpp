// Tests ids of points, the lines that `expc plan` prints for them, and the remarks of a system.

#include <doctest/doctest.h>

#include <random>
#include <set>

#include "compiler/lower/lower.h"
#include "compiler/points/lints.h"
#include "compiler/points/point_writer.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "tests/lowered.h"
#include "tests/study_fixture.h"

using namespace expc;

namespace {

/// The id by its definition: the hash of the canonical JSON of a point's meaning. PointWriter must agree with
/// it.
std::string idOf(const expand::Selected& selected, const expand::Assignment& resolved) {
  const check::Use& use = selected.study->uses[resolved.use()];
  const check::Workload& workload = *use.workload;
  llvm::json::Object parameters, document{{"version", workload.version}};
  for (unsigned i = 0; i < use.parameter_of.size(); ++i) {
    const check::Value* value = use.parameter_of[i] >= 0 ? resolved.value(i) : nullptr;
    if (value && *value != workload.parameters[use.parameter_of[i]].fallback)
      parameters[selected.study->parameter(i).name] = points::toJson(*value, true);
  }
  if (workload.command)
    document["command"] = points::argumentsJson(workload.command->written);
  else
    document["workload"] = workload.name;
  document["parameters"] = std::move(parameters);
  return base::shortHash(base::canonicalJson(std::move(document)));
}

struct Lowered {
  explicit Lowered(const std::string& text, const expand::Selection& selection = {}, const std::string& machine = "",
                   std::map<std::string, std::string> files = {})
      : fixture(text, std::move(files)) {
    REQUIRE_MESSAGE(fixture.emitter.errors() == 0, fixture.text());
    const check::System* system = machine.empty() ? nullptr : fixture.program.findSystem(machine);
    prepared = points::Prepared::of(fixture.program, *fixture.program.studies[0], selection, system, fixture.emitter);
  }
  std::vector<std::vector<unsigned>> points() {
    std::vector<std::vector<unsigned>> result;
    prepared->space->forEach([&](expand::Levels point) {
      result.emplace_back(point.begin(), point.end());
      return true;
    });
    return result;
  }
  /// The ids of all points, each compared with its definition, and each line with the document that it writes.
  std::set<std::string> ids() {
    std::set<std::string> result;
    REQUIRE_MESSAGE(prepared, fixture.text());
    expand::Assignment at(prepared->selected);
    std::string line;
    for (const auto& point : points()) {
      std::string id(prepared->writer->id(point));
      at.set(point);
      REQUIRE(!at.resolve());
      CHECK(id == idOf(prepared->selected, at));
      prepared->line(point, line);
      auto document = base::parseJson(line);
      REQUIRE(bool(document));
      CHECK(base::canonicalJson(*document) == line);
      CHECK(document->getAsObject()->getString("point") == llvm::StringRef(id));
      CHECK(*document->getAsObject()->getObject("parameters") == points::parametersOf(prepared->selected, at));
      CHECK(document->getAsObject()->getObject("levels")->size() == point.size());
      CHECK(result.insert(id).second);
    }
    return result;
  }

  check::Fixture fixture;
  std::unique_ptr<points::Prepared> prepared;
};

const std::string kMeasured = " measure step_time, accuracy ";

/// A study of two workloads.
std::string twins(const std::string& body, const std::string& theirs = "b") {
  return "enum loader { dali, native }\n"
         "workload a { param size : int in 1..64 = 8  param loader : loader = dali  param depth : int = 2 when loader "
         "== "
         "native  metric t : Time lower }\n"
         "workload b { param size : int in 1..64 = 16  param extra : bool = false  metric t : Time lower }\n"
         "study s { workload ours = a()  workload theirs = " +
         theirs + "() " + body + " measure t design { repeat 10  steps 1 } }\n";
}

}  // namespace

TEST_CASE("ids and lines from pieces are those of whole documents") {
  CHECK(Lowered(
            check::jobStudy("factor gpus in 1..3 factor method in { none, lora } factor rank in { 8, 16 }" + kMeasured))
            .ids()
            .size() == 3 * 3);
  CHECK(
      Lowered(check::jobStudy("factor data in { real(\"a\\\"b\"), fake(10), fake(20) } factor rate in { 0.5, 1 / 3 }" +
                              kMeasured))
          .ids()
          .size() == 6);
  CHECK(Lowered(check::jobStudy("factor (batch, size) in { (16, 64px), (32, 224px) } factor class in { small, large }" +
                                kMeasured))
            .ids()
            .size() == 4);
  CHECK(Lowered(twins("factor size in { 8, 16 } factor depth in { 2, 3 }")).ids().size() == 2 + 2);
  CHECK(Lowered(twins("factor size in { 8, 16 } factor loader in { dali, native } factor depth in { 2, 3 }"))
            .ids()
            .size() == 2 * 3 + 2);
}

TEST_CASE("an id knows the workload that runs, with its own defaults") {
  auto both = Lowered(twins("factor size in { 8, 16 }")).ids();
  auto ours = Lowered(
                  "enum loader { dali, native }\nworkload a { param size : int in 1..64 = 8  param loader : loader = "
                  "dali  param depth : int = 2 when loader == native  metric t : Time lower }\nstudy s { workload "
                  "a() factor size in { 8, 16 } measure t design { repeat 10  steps 1 } }")
                  .ids();
  CHECK(ours.size() == 2);
  CHECK(std::includes(both.begin(), both.end(), ours.begin(), ours.end()));
}

TEST_CASE("a command's id is its arguments, not its name or how its output is read") {
  auto study = [](const std::string& name, const std::string& program, const std::string& read) {
    return "workload " + name + " command [\"" + program +
           "\", \"${n}\"] { param n : int = 1  metric t : Time lower from " + read + " }\nstudy s { workload " + name +
           "() factor n in 1..3 measure t design { repeat 6 } }";
  };
  auto first = Lowered(study("one", "/bin/x", "regex(\"a ([0-9]+)\", unit = 1s)")).ids();
  CHECK(first == Lowered(study("two", "/bin/x", "regex(\"b ([0-9]+)\", unit = 1ms)")).ids());
  CHECK(first != Lowered(study("one", "/bin/y", "regex(\"a ([0-9]+)\", unit = 1s)")).ids());
}

TEST_CASE("options stand for every parameter, and neither their order nor one more at its default changes an id") {
  const auto study = [](const std::string& command, const std::string& params) {
    return "workload w command [\"run\", " + command + "] { " + params +
           " metric wall : Time lower } study s { workload w  factor n in { 1, 2 }  measure wall  design { repeat "
           "10 } }";
  };
  const std::string n = "param n : int = 1 ", lr = "param lr_max : float = 0.5 ";
  const std::set<std::string> ids = Lowered(study("options", n + lr)).ids();
  CHECK(ids.size() == 2);
  CHECK(Lowered(study("options", lr + n)).ids() == ids);
  CHECK(Lowered(study("options", n + lr + "param more : bool = false")).ids() == ids);
  CHECK(Lowered(study("options \"--{name}={value}\"", n + lr)).ids() != ids);
  CHECK(Lowered(study("\"options\", \"${n}\", \"${lr_max}\"", n + lr)).ids() != ids);
  const auto arguments = [&](const std::string& command) {
    return lower::outlineOf(*Lowered(study(command, n + lr)).prepared).head.workloads[0].command->arguments;
  };
  using List = std::vector<std::string>;
  CHECK(arguments("options") == List{"run", "--lr_max", "${lr_max}", "--n", "${n}"});
  CHECK(arguments("options \"-D{dashed}={value}\", \"${n}\"") == List{"run", "-Dlr-max=${lr_max}", "${n}"});
}

TEST_CASE("warmup of commands is starts, unless a program is told it or the study has steps of its own") {
  const auto settings = [](const std::string& argument, const std::string& more, const std::string& warmup,
                           const std::string& own = "") {
    const std::string text = "import std.null workload w command [\"run\", \"" + argument + "\"] { " + own +
                             " metric wall : Time lower  metric step_time : Time lower from stdout }\n"
                             "study s { workload w = w " +
                             more + " measure step_time design { timed { repeat 10 steps 1 " + warmup + " } } }";
    return llvm::json::Value(
        llvm::json::Object(lower::outlineOf(*Lowered(text).prepared).head.design.kinds.front().settings));
  };
  using Object = llvm::json::Object;
  CHECK(settings("x", "", "warmup 3") == Object{{"steps", 1}, {"uncounted_starts", 3}});
  CHECK(settings("x", "", "warmup 0") == Object{{"steps", 1}, {"warmup", 0}});
  CHECK(settings("x", "", "") == Object{{"steps", 1}});
  CHECK(settings("${warmup}", "", "warmup 3") == Object{{"steps", 1}, {"warmup", 3}});
  // The workload's own parameter `warmup` stands in the argument, so the program is not told the design's.
  CHECK(settings("${warmup}", "", "warmup 3", "param warmup : int = 5") ==
        Object{{"steps", 1}, {"uncounted_starts", 3}});
  CHECK(settings("x", "workload other = null.idle", "warmup 3") == Object{{"steps", 1}, {"warmup", 3}});
}

TEST_CASE("order of declarations, a new level and a condition elsewhere change no id") {
  std::vector<std::string> parts = {
      "factor gpus in { 1, 2 } ", "factor method in { none, lora, qlora } ", "factor rank in { 8, 64 } when gpus > 1 ",
      "factor (batch, size) in { (16, 64px), (32, 224px) } ", "exclude gpus == 2 and method == qlora "};
  std::mt19937 random(3);
  std::set<std::string> first;
  std::string digest;
  for (int round = 0; round < 6; ++round) {
    std::string body;
    for (const std::string& part : parts) body += part;
    Lowered study(check::jobStudy(body + kMeasured));
    auto ids = study.ids();
    if (round == 0) {
      first = ids;
      digest = lower::outlineOf(*study.prepared).head.digest;
    }
    CHECK(ids == first);
    CHECK(lower::outlineOf(*study.prepared).head.digest == digest);
    std::shuffle(parts.begin(), parts.end(), random);
  }
  auto more =
      Lowered(check::jobStudy("factor gpus in { 1, 2, 4 } factor method in { none, lora, qlora } factor rank in { 8, "
                              "16, 64 } when gpus > 1 factor (batch, size) in { (16, 64px), (32, 224px) } exclude "
                              "gpus == 2 and method == qlora" +
                              kMeasured))
          .ids();
  CHECK(std::includes(more.begin(), more.end(), first.begin(), first.end()));
}

TEST_CASE("points that mean the same are an error") {
  Lowered alike(twins("factor loader in { dali, native }", "a"));
  CHECK(!alike.prepared);
  CHECK(alike.fixture.slugs() == std::vector<std::string>{"same-point"});
  // (none, 8) and (none, 16) differ only in `rank`, which is not active without lora.
  Lowered tuples(check::jobStudy("factor (method, rank) in { (none, 8), (none, 16), (lora, 8) }" + kMeasured));
  CHECK(tuples.fixture.slugs() == std::vector<std::string>{"same-point"});
  CHECK(Lowered(check::jobStudy("factor (method, rank) in { (none, 8), (lora, 16), (lora, 8) }" + kMeasured))
            .ids()
            .size() == 3);
}

TEST_CASE("a system marks points by its rules and the workload's estimates, and changes nothing else") {
  std::string text =
      "system small { gpus = 2  gpu.memory = 10GB }\nsystem bare { gpus = 2 }\n"
      "workload job { param gpus : int in 1..8 = 1  param batch : int = 1  param full : bool = false\n"
      "  metric t : Time lower  metric peak : Bytes lower exact\n"
      "  estimate peak = batch * 3GB / gpus  estimate peak = 2GB }\n"
      "study s { workload job() factor gpus in { 1, 2, 4 } baseline 1  factor batch in { 1, 2, 4 }\n"
      "  require cards: gpus <= system.gpus because \"too few cards\"\n"
      "  require gpu_memory: system.gpu.memory > 1MB  compare gain = speedup(t) over gpus\n"
      "  criterion big: forall gpus: t[batch = 4] <= 1s  criterion all: forall *: gain >= 0.5x always\n"
      "  criterion oom: forall gpus where gpus == 1: infeasible\n"
      "  design { repeat 10  steps 1 } }";
  // Ask `oom` about batch too.
  text.replace(text.find("forall gpus where gpus == 1"), 27, "forall * where gpus * 3 < batch");
  Lowered here(text, {}, "small");
  REQUIRE_MESSAGE(here.prepared, here.fixture.text());
  const lower::Outline outline = lower::outlineOf(*here.prepared);
  CHECK(outline.points == 9);
  CHECK(outline.available == 6);
  CHECK(outline.expected_infeasible == 1);  // 4 * 3 GB + 2 GB on one device
  CHECK(outline.head.system == "small");
  auto plan = lower::compile(here.fixture.program, {}, here.fixture.program.findSystem("small"), here.fixture.emitter);
  REQUIRE(plan);
  CHECK(plan->points[2].expected_infeasible == "peak is estimated at 14 GB, and a device has 10 GB");
  CHECK(plan->points[8].unavailable == "too few cards");
  CHECK(plan->criteria[2].infeasible);
  REQUIRE(plan->criteria[2].cells.size() == 1);
  CHECK(std::get<plan::ConstantTerm>(plan->criteria[2].cells[0].term->node).value == 1);
  Lowered bare(text, {}, "bare");
  CHECK(lower::outlineOf(*bare.prepared).expected_infeasible == 0);
  Lowered nowhere(text);
  CHECK(lower::outlineOf(*nowhere.prepared).available == 9);
  CHECK(lower::outlineOf(*nowhere.prepared).head.digest == outline.head.digest);
  // With so little memory no point of two claims fits.
  std::string tight = text;
  tight.replace(tight.find("gpu.memory = 10GB"), 17, "gpu.memory = 1GB ");
  Lowered none(tight, {}, "small");
  CHECK(!none.prepared);
  CHECK(none.fixture.slugs() == std::vector<std::string>{"expected-infeasible", "expected-infeasible"});
}
