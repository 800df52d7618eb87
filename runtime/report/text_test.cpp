#include <doctest/doctest.h>

#include <cmath>

#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/describe/attribution.h"
#include "runtime/report/commands.h"
#include "runtime/report/paint.h"
#include "runtime/report/records_json.h"
#include "runtime/report/sections.h"
#include "runtime/report/texts.h"
#include "runtime/report/wording.h"
#include "tests/support/report/example_results.h"

using namespace expc;
using namespace expc::report;

namespace {

bool shows(const std::string& text, const std::string& part) {
  CAPTURE(part);
  INFO(text);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text)
    if (c == '\n')
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

plan::Plan bigPlan(unsigned points) {
  plan::Plan plan = plan::examplePlan();
  plan.points.clear();
  plan.comparisons.clear();
  plan.criteria.clear();
  for (unsigned i = 0; i < points; ++i)
    plan.points.push_back({base::shortHash(std::to_string(i)), 0, {i % 3, i % 2}, {}, "", ""});
  return plan;
}

}  // namespace

TEST_CASE("a plan says what is planned, what is not, and why") {
  PlanExtras extras;
  simulate::Diagnosis diagnosis;
  diagnosis.design.seconds = 431;
  diagnosis.design.criteria.resize(plan::examplePlan().criteria.size());
  extras.diagnosis = &diagnosis;
  const std::string text = planText(plan::examplePlan(), extras);
  shows(text, "Plan of precision (experiments/precision.exp, preset quick, -D gpus=1,2)");
  shows(text, "2 points removed by narrow (precision.exp:11:3): half precision is not in this preset");
  shows(text, "precision=fp16 gpus=1; precision=fp16 gpus=2");
  shows(text, "1 point cannot run here: rule 'cards': the node has fewer cards");
  shows(text, "Time      forecast 7 min 11 s (from stored trials); budget 24 h");
  shows(text, "timed         7       5      35  steps 20, warmup 5  step_time, host_memory_peak");
  shows(text, "gain[precision = fp32] >= 1.2x; ±1.3 % *");
  shows(text, "not judged here (none of their configurations can run): fp16_pays");
  CHECK(text.find('\033') == std::string::npos);
  extras.colour = true;
  shows(planText(plan::examplePlan(), extras), "\033[1mPlan of precision (experiments/precision.exp, ");
}

TEST_CASE("a plan says of what its forecast is, and which claims this device cannot answer") {
  PlanExtras extras;
  simulate::Diagnosis diagnosis;
  diagnosis.design.seconds = 431;
  diagnosis.design.criteria.resize(plan::examplePlan().criteria.size());
  extras.diagnosis = &diagnosis;
  extras.counted.emplace();
  extras.width = 200;
  shows(planText(plan::examplePlan(), extras),
        "forecast 7 min 11 s (from stored trials that no longer count: a run measures them again)");
  store::Trial trial;
  trial.key = exampleKey(plan::Place(plan::examplePlan().points[0].id), plan::TrialKind::Quality);
  trial.status = store::TrialStatus::Valid;
  trial.not_on_device = {"accuracy"};
  extras.counted->trials = {trial};
  const std::string text = planText(plan::examplePlan(), extras);
  shows(text, "forecast 7 min 11 s (from stored trials)");
  shows(text, "accuracy is not measured on this device");
}

TEST_CASE("lines keep to the width of the terminal") {
  for (const unsigned width : {60u, 80u, 120u}) {
    PlanExtras extras;
    extras.width = width;
    ResultTextOptions options;
    options.width = width;
    const Example example = exampleResults();
    for (const std::string& text :
         {planText(example.plan, extras), resultText({example.plan, example.judgement, example.results}, options)})
      for (const std::string& line : lines(text)) {
        CAPTURE(line);
        if (line.find(" expc ") != std::string::npos) continue;  // commands are whole, to be copied
        CHECK(displayWidth(line) <= width + 4);  // the narrowest prose column and single words may stand out
      }
  }
}

TEST_CASE("a large plan is not printed whole unless asked") {
  PlanExtras extras;
  const std::string text = planText(bigPlan(5000), extras);
  CHECK(lines(text).size() < 60);
  shows(text, "--all lists points");
  extras.all_points = true;
  CHECK(lines(planText(bigPlan(5000), extras)).size() > 5000);
  CHECK(planText(bigPlan(20), PlanExtras{}).find("more;") == std::string::npos);
}

TEST_CASE("many reasons are cut short too") {
  plan::Plan plan = bigPlan(300);
  for (size_t i = 0; i < plan.points.size(); ++i) plan.points[i].unavailable = "reason " + std::to_string(i);
  CHECK(lines(planText(plan, PlanExtras{})).size() < 80);
}

TEST_CASE("JSON lines begin with what the plan is and how much of it") {
  const plan::Plan plan = plan::examplePlan();
  const auto header = llvm::cantFail(base::parseJson(planLinesHeader(plan, PlanCounts::of(plan))));
  CHECK(header.getAsObject()->getString("schema") == "expc.plan-lines/2");
  CHECK(header.getAsObject()->getInteger("points") == 6);
  CHECK(header.getAsObject()->getInteger("available") == 5);
}

TEST_CASE("a plan that is too large to hold is summed up") {
  plan::Plan head = plan::examplePlan();
  PlanCounts counts = PlanCounts::of(head);
  head.points.clear();
  counts.points = 1'000'000;
  counts.available = 999'999;
  PlanExtras extras;
  extras.counts = &counts;
  const std::string text = planText(head, extras);
  shows(text, "1000000");
  shows(text, "1 point cannot run here");
  CHECK(lines(text).size() < 60);
}

TEST_CASE("a result shows verdicts, tables, comparisons and what went wrong") {
  const Example example = exampleResults();
  ResultTextOptions options;
  options.html_path = "results/precision.html";
  options.all = true;
  const std::string text = resultText({example.plan, example.judgement, example.results}, options);
  shows(text, "PASS       fp32_pays: forall gpus: gain[precision = fp32] >= 1.2x with confidence 95%");
  shows(text, "every cell's interval lies above 1.2x");
  shows(text, "confidence   at 95 % confidence, the false pass rate is at most 2.5 %");
  shows(text, "scope        gpus 1, 2 of 1..4; precision fp32");
  shows(text, "FAIL       learns");
  shows(text, "fp32       2     FAIL       87.1 %   too few  1  1 of 1 below 90 %");
  shows(text, "NOT ASKED  fp16_pays");
  shows(text, "2     23.1 ms [22.7, 23.5]  14.9 ms [14.7, 15.2]         not available");
  shows(text, "bf16       2            –               –  0  needs 6 pairs, has 0");
  shows(text, "timed precision=bf16 gpus=1 failed: rank 1 died of signal 11 \\x1b[31m");
  shows(text, "Stored but ignored  3 trials");
  shows(text, "Page        results/precision.html");
  CHECK(text.find("PASS       fp32_pays:") < text.find("step_time  median"));
  CHECK(text.find('\033') == std::string::npos);
}

TEST_CASE(
    "a result is short: tables, a line for each verdict, one for the trials, what is next, and where the page is") {
  const Example example = exampleResults();
  ResultTextOptions options;
  options.html_path = "results/precision.html";
  const std::string text = resultText({example.plan, example.judgement, example.results}, options);
  size_t last = 0;
  for (const char* part :
       {"precision",
        "\nNo: accuracy is below 90% in 1 of 5 runs; 1 other claim holds and 1 cannot be judged here (narrowed\nto "
        "gpus=1,2 by -D).",
        "\nPASS       fp32_pays: ", "every cell's interval lies above 1.2x\n",
        "\nFAIL       learns: ", "\nNOT ASKED  fp16_pays: ", "step_time  median",
        "Trials      1 of 2 valid; 1 not: timed precision=bf16 gpus=1 failed:",
        "Details     expc report experiments/precision.exp", "Page        results/precision.html\n"}) {
    CAPTURE(part);
    const size_t at = text.find(part, last);
    CHECK(at != std::string::npos);
    if (at != std::string::npos) last = at;
  }
  CHECK(lines(text).size() < 40);
  for (const char* part :
       {"Effects", "Rankings", "Best in two", "Over the run", "confidence", "gain  speedup", "95.8 %  none"})
    CHECK_MESSAGE(text.find(part) == std::string::npos, part);
}

TEST_CASE("descriptions stand where the study asks for them in a table") {
  Example example = exampleResults();
  using Shows = plan::Table::Shows;
  example.plan.tables = {
      {"step_time", {}, Shows::Ranking}, {"step_time", {}, Shows::Front, "accuracy"}, {"accuracy", {}, Shows::Effects}};
  const std::string text = resultText({example.plan, example.judgement, example.results}, {});
  shows(text, "Rankings  by median;");
  shows(text, "step_time and accuracy: 2 of 3");
  shows(text, "Effects  log scale, 95 % intervals over blocks; descriptive\n  nothing to show\n");
}

TEST_CASE("trials of a point that fail alike are one line") {
  Example example = exampleResults();
  const auto failed = std::ranges::find(example.results.trials, store::TrialStatus::Failed, &store::Trial::status);
  REQUIRE(failed != example.results.trials.end());
  const store::Trial again = *failed;
  example.results.trials.push_back(again);
  ResultTextOptions options;
  options.width = 200;
  options.all = true;
  shows(resultText({example.plan, example.judgement, example.results}, options), "</script> (2 times)\n");
}

TEST_CASE("a comparison that a preset left without cells says so") {
  Example example = exampleResults();
  example.plan.comparisons[0].cells.clear();
  example.judgement.comparisons[0].cells.clear();
  shows(resultText({example.plan, example.judgement, example.results}, {.all = true}),
        example.plan.comparisons[0].text + "\n  this selection has no pair of points to compare\n");
}

TEST_CASE("metrics over the same levels share a table, and a mark is explained once") {
  Example example = exampleResults();
  const plan::Metric* step_time = example.plan.findMetric("step_time");
  REQUIRE(step_time);
  plan::Metric second = *step_time;
  second.name = "second";
  example.plan.metrics.push_back(second);
  for (const judge::Summary& one : std::vector(example.judgement.summaries))
    if (one.metric == "step_time") {
      example.judgement.summaries.push_back(one);
      example.judgement.summaries.back().metric = "second";
    }
  example.plan.tables = {{"step_time", {"gpus", "precision"}}, {"second", {"gpus", "precision"}}};
  for (judge::CriterionResult& result : example.judgement.criteria) result.provisional = true;
  const std::string text = resultText({example.plan, example.judgement, example.results}, {});
  shows(text, "\nstep_time, second  median over timed trials, 95 % intervals; lower is better\n");
  shows(text, "\n  second     2 ");
  const size_t at = text.find("provisional: not all planned trials are measured");
  CHECK(at != std::string::npos);
  CHECK(text.find("provisional: not all", at + 1) == std::string::npos);
}

TEST_CASE("a narrow terminal gets the interval below its estimate") {
  const Example example = exampleResults();
  ResultTextOptions options;
  options.width = 60;
  shows(resultText({example.plan, example.judgement, example.results}, options),
        "  1            41.2 ms         26.8 ms         33.1 ms\n"
        "          [40.5, 42.0]    [26.4, 27.3]    [32.6, 33.7]\n");
}

TEST_CASE("a value near its bound is not rounded onto it") {
  Example example = exampleResults();
  example.judgement.criteria[0].cells[0].estimate = 1.1996;
  shows(resultText({example.plan, example.judgement, example.results}, {.all = true}), "1.1996x");
}

TEST_CASE("the judgement as JSON survives infinities and says the labels") {
  Example example = exampleResults();
  example.judgement.summaries[0].median = INFINITY;
  example.judgement.criteria[0].cells[0].interval = stats::Interval{1.5, INFINITY, 0.95};
  const std::string text = base::canonicalJson(resultJson({example.plan, example.judgement, example.results}));
  const auto back = llvm::cantFail(base::parseJson(text));
  const auto& object = *back.getAsObject();
  CHECK(object.getString("schema") == "expc.report/1");
  CHECK(object.getInteger("exit_code") == 3);
  const auto& cell = *(*(*object.getArray("criteria"))[0].getAsObject()->getArray("cells"))[0].getAsObject();
  CHECK(cell.getObject("levels")->getString("gpus") == "1");
  const auto& first = *(*object.getArray("criteria"))[0].getAsObject();
  CHECK(first.getString("claim") == example.plan.criteria[0].doc);
  CHECK(first.getString("tested") == "gpus 1, 2 of 1..4; precision fp32");
  CHECK(first.getArray("notes"));
  CHECK(cell.getObject("interval")->getString("high") == "inf");
  const auto& point = *(*object.getArray("points"))[0].getAsObject();
  CHECK(point.getObject("metrics")->getObject("step_time")->getString("median") == "inf");
  CHECK(point.getObject("metrics")->getObject("accuracy")->getObject("interval") == nullptr);
}

TEST_CASE("wording") {
  CHECK(durationText(0.25) == "250 ms");
  CHECK(durationText(4.24) == "4.2 s");
  CHECK(durationText(9.96) == "10 s");
  CHECK(durationText(59.6) == "1 min");
  CHECK(durationText(431) == "7 min 11 s");
  CHECK(durationText(3000) == "50 min");
  CHECK(durationText(86400) == "24 h");
  CHECK(durationText(5400) == "1 h 30 min");
  CHECK(durationText(400000) == "4.6 days");
  CHECK(durationText(NAN) == "?");
  CHECK(spreadsText({0.00012, 0.0009, 3}, "s", "time") == "120 us within a session and 900 us between 3 sessions");
  plan::Plan plan = plan::examplePlan();
  plan.overrides = {"precision={fp32, bf16}", "data=mnist('x')"};
  CHECK(repeatCommand(plan) ==
        "expc run experiments/precision.exp --study precision --preset quick -D 'precision={fp32, bf16}' "
        "-D 'data=mnist('\\''x'\\'')'");
  plan.overrides = {"design.timed.repeat=9"};
  CHECK(repeatCommand(plan, "my results", {{plan::TrialKind::Timed, 16}}) ==
        "expc run experiments/precision.exp --study precision --preset quick -D design.timed.repeat=16 "
        "--results 'my results'");
  const auto fixed = fixedParameters(plan);
  REQUIRE(fixed.size() == 2);
  CHECK(fixed[0] == std::pair<std::string, std::string>("data", "mnist(\"data/digits\")"));
  CHECK(fixed[1] == std::pair<std::string, std::string>("width", "0.5"));
}

TEST_CASE("results say on what they were measured") {
  plan::Plan plan = plan::examplePlan();
  plan.points[0].parameters["gpus"] = 1;
  store::Results results;
  store::Session session;
  session.where.nodes = {"here"};
  session.environment_json = R"({"machine": {"cpu_model": "Example"}, "slots":
      [{"device": "cpu", "index": 0, "cores": [0, 1]}, {"device": "cpu", "index": 1, "cores": [2, 3]}]})";
  results.sessions = {session, session};
  CHECK(measuredOnText(plan, results) == "here: 2 x 2 cores of Example (not GPUs)");
  results.sessions[1].environment_json =
      R"({"slots": [{"device": "cuda", "name": "H100"}, {"device": "cuda", "name": "H100"},
      {"device": "cuda", "name": "H100", "null": true}]})";
  CHECK(measuredOnText(plan, results).ends_with("; here: 2 x H100, 1 x simulated GPU"));
  results.sessions = {store::Session()};
  CHECK(measuredOnText(plan, results).empty());
}

TEST_CASE("results say what else there is to see, as a description") {
  const Example example = exampleResults();
  const std::string text = resultText({example.plan, example.judgement, example.results}, {.all = true});
  for (const char* part :
       {"Effects  log scale", "descriptive", "1 point left out", "fp64 1.25x [0.90x, 1.10x]", "Rankings",
        "2. precision=fp64", "Pareto front", "2 of 3", "warm-up", "by the trend (p = 0.002)", "trial 1, step_time at"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, part);
  const auto json = resultJson({example.plan, example.judgement, example.results});
  const llvm::json::Object* description = json.getAsObject()->getObject("description");
  REQUIRE(description);
  for (const char* part : {"effects", "rankings", "fronts", "over_the_run", "outliers"})
    CHECK_MESSAGE(description->getArray(part)->size() == 1, part);
}

TEST_CASE("results say where the time went, for levels with profiles") {
  ResultTextOptions options;
  options.width = 100;
  options.all = true;
  Example example = withProfiles(exampleResults());
  for (store::Trial& trial : example.results.trials)
    trial.notes = {"of " + std::string(toString(trial.key->kind)) + " trials\033"};
  example.results.trials.front().notes.emplace_back(plan::Note::Leaked, "accuracy", 4, "test image", 40);
  const std::string text = resultText({example.plan, example.judgement, example.results}, options);
  shows(text, "Where the time went");
  // A leak spoils the values that are shown, so it is the first note, however few trials have it.
  shows(text,
        "\nNotes of trials\n  4 of 40 test images are also trained on, so accuracy there measures memorisation (1 "
        "trial)\n  of profile trials\\x1b (");
  shows(text, "\n  of timed trials\\x1b (");
  shows(text, "precision=fp32 against fp64, gpus=1: gain, judged by fp32_pays: 60.0 ms per step instead of 100");
  shows(text, "backward                  30.0 ms  60.0 ms    -30.0 ms   75 %");
  shows(text, "all_reduce, beside these");
  shows(text, "operators, own time");
  const auto json = resultJson({example.plan, example.judgement, example.results});
  const auto* all = json.getAsObject()->getArray("attributions");
  REQUIRE(all);
  REQUIRE(all->size() == 1);
  const auto* steps = (*all)[0].getAsObject()->getObject("views")->getArray("step");
  REQUIRE(steps);
  CHECK((*steps)[0].getAsObject()->getString("name") == "backward");
  CHECK(*(*steps)[0].getAsObject()->getNumber("share") == doctest::Approx(0.75));
  // Tables that hold time of other threads say so.
  const auto* notes = (*all)[0].getAsObject()->getObject("notes");
  REQUIRE(notes);
  CHECK(notes->getString("step")->contains("includes waiting"));  // all-reduce, beside
  CHECK(notes->getString("operator")->contains("of all threads"));
  for (store::Trial& trial : example.results.trials) trial.series.erase("profile.beside.all_reduce");
  const auto apart = resultJson({example.plan, example.judgement, example.results});
  const auto* few = (*apart.getAsObject()->getArray("attributions"))[0].getAsObject()->getObject("notes");
  CHECK_FALSE(few->getString("step"));
}

TEST_CASE("columns are named by the levels where those differ in one factor") {
  const Example example = withProfiles(exampleResults());
  const auto all = describe::attribute({example.plan, example.judgement, example.results});
  REQUIRE(all.size() == 1);
  CHECK(levelNames(example.plan, all[0]) == std::pair<std::string, std::string>("fp32", "fp64"));
  describe::Attribution other = all[0];
  other.treated = example.plan.points[1].id;
  CHECK(levelNames(example.plan, other) == std::pair<std::string, std::string>("gpus=2", "gpus=1"));
  other.treated = example.plan.points[3].id;  // other gpus, too
  CHECK(levelNames(example.plan, other).first == "this level");
  other.treated = "gone";
  CHECK(levelNames(example.plan, other).second == "baseline");
}

TEST_CASE("many criteria of a pair are counted") {
  const Example example = withProfiles(exampleResults());
  describe::Attribution one = describe::attribute({example.plan, example.judgement, example.results}).at(0);
  one.criteria = {"a", "b", "c", "d", "e"};
  shows(attributionPart(example.plan, one, Detail::Summary).rest, "judged by a, b, c and 2 more: ");
}

TEST_CASE("results of null cards say so first and last, and in JSON") {
  const Example example = onNullCards(exampleResults());
  ResultTextOptions options;
  options.width = 120;
  options.colour = false;
  const std::string text = resultText({example.plan, example.judgement, example.results}, options);
  const std::string notice =
      "SIMULATED GPUS: all numbers here come from simulated GPUs, which compute nothing; no verdict comes from them.\n";
  CHECK(text.starts_with(notice));
  CHECK(text.rfind(notice) == text.size() - notice.size());
  CHECK(text.find("PASS") == std::string::npos);
  const llvm::json::Value value = resultJson({example.plan, example.judgement, example.results});
  CHECK(value.getAsObject()->getBoolean("null_cards").value_or(false));
  CHECK(value.getAsObject()->getInteger("exit_code") == 4);
  CHECK((*value.getAsObject()->getArray("sessions"))[0].getAsObject()->getBoolean("null_cards").value_or(false));

  const Example real = exampleResults();
  CHECK(resultText({real.plan, real.judgement, real.results}, options).find("NULL CARDS") == std::string::npos);
  CHECK(!resultJson({real.plan, real.judgement, real.results}).getAsObject()->getBoolean("null_cards").value_or(true));
}

TEST_CASE("where a comparison fails, the report says how to see where the time went") {
  Example example = exampleResults();
  const auto why = [&] { return withoutAttribution({example.plan, example.judgement, example.results}); };
  CHECK(why().empty());  // the failing criterion compares no two points
  example.judgement.criteria[0].verdict = judge::Verdict::Fail;
  shows(why(),
        "the design has no profile trials. To see which phases and operators make the difference, add `profile { "
        "repeat 1  steps 20  warmup 5 }`");
  const std::string text = resultText({example.plan, example.judgement, example.results}, {.all = true});
  shows(text, "Where the time went");
  example.plan.workloads[0].command.emplace();  // a program of the user's has no profile
  CHECK(why().empty());
  example.plan.workloads[0].command.reset();
  example.plan.design.kinds.push_back({plan::TrialKind::Profile, 1, 1, {}, {}});
  CHECK(why().empty());  // profile trials are designed and will come
  example = withProfiles(std::move(example));
  example.results.trials.pop_back();
  shows(why(), "no block has profile trials of both levels");
}
