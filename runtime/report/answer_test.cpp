#include "runtime/report/answer.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>

#include "runtime/base/format.h"
#include "tests/source_dir.h"
#include "tests/support/judge/study.h"
#include "tests/support/report/example_results.h"

namespace expc::report::answers {
namespace {

using namespace judge::test;
using Quantifier = plan::Claim::Kind;
using Op = plan::OperationTerm::Op;
using judge::Verdict;

/// The bounds of a form that pass, fail and stay open for the values that records give it.
struct FormCase {
  const char* name;
  std::vector<plan::Cell> cells;
  std::string unit;
  std::optional<double> confidence;
  Bound passes, fails, open;
  Quantifier kind = Quantifier::ForAll;
  std::string text = "";
};

Bound bound(Relation relation, double value, std::string text) { return {relation, value, value, std::move(text)}; }

/// A cell of two points in place of a speed-up.
std::vector<plan::Cell> pairCells(plan::Estimator estimator, TrialKind kind, auto term_of) {
  std::vector<plan::Cell> cells = gainCells();
  for (plan::Cell& cell : cells) {
    cell.term = term_of(cell.points[0], cell.points[1]);
    cell.estimator = estimator;
    cell.kind = kind;
  }
  return cells;
}

std::vector<FormCase> forms() {
  using plan::Estimator;
  const auto operation = [](Op op, const char* name) {
    return [op, name](const plan::Place& treated, const plan::Place& baseline) {
      return term(plan::OperationTerm{op, {metric(name, treated), metric(name, baseline)}});
    };
  };
  const plan::Plan plan = study();
  std::vector<plan::Cell> scaling = gainCells(), like = gainCells(), one = gainCells(),
                          memory = metricCells(plan, "memory");
  for (plan::Cell& cell : scaling) cell.term = term(plan::ScaleTerm{0.5, cell.term});
  for (plan::Cell& cell : like) cell.bound = Bound{Relation::Within, 1.4, 1.6, "within 1.4x..1.6x"};
  one.pop_back();
  const auto rate = pairCells(Estimator::PairedRatio, TrialKind::Timed, operation(Op::Ratio, "images_per_s"));
  const auto time = pairCells(Estimator::PairedRatio, TrialKind::Timed, operation(Op::Ratio, "step_time"));
  const auto difference =
      pairCells(Estimator::PairedDifference, TrialKind::Timed, operation(Op::Difference, "step_time"));
  const auto more = [](double value, std::string text) { return bound(Relation::GreaterEqual, value, ">= " + text); };
  const auto most = [](double value, std::string text) { return bound(Relation::LessEqual, value, "<= " + text); };
  return {
      {"speed-up of a time", gainCells(), "x", 0.95, more(1.2, "1.2x"), more(2, "2x"), more(1.5, "1.5x")},
      {"speed-up of a time, one comparison", one, "x", 0.95, more(1.2, "1.2x"), more(2, "2x"), more(1.5, "1.5x")},
      {"limit of a speed-up", gainCells(), "x", 0.95, most(2, "2x"), most(1.2, "1.2x"), most(1.5, "1.5x")},
      {"faster at all", gainCells(), "x", 0.95, bound(Relation::Greater, 1, "> 1x"), bound(Relation::Less, 1, "< 1x"),
       more(1.5, "1.5x")},
      {"ratio of times", time, "x", 0.95, most(0.8, "0.8x"), more(1, "1x"), most(0.667, "0.667x")},
      {"ratio of rates", rate, "x", 0.95, more(1.2, "1.2x"), more(2, "2x"), more(1.5, "1.5x")},
      {"band",
       gainCells(),
       "x",
       0.95,
       {Relation::Within, 1.4, 1.6, "within 1.4x..1.6x"},
       {Relation::Within, 0.9, 1.1, "within 0.9x..1.1x"},
       {Relation::Within, 1.5, 1.6, "within 1.5x..1.6x"}},
      {"difference", difference, "s", 0.95, most(0, "0s"), more(-0.01, "-10ms"), most(-0.04, "-40ms")},
      {"efficiency", scaling, "x", 0.95, more(0.7, "0.7x"), more(0.9, "0.9x"), more(0.75, "0.75x")},
      {"median of a metric", metricCells(plan, "images_per_s"), "img/s", 0.95, more(300, "300img/s"),
       more(3000, "3000img/s"), more(457, "457img/s")},
      {"every run", metricCells(plan, "step_time"), "s", std::nullopt, most(1, "1s"), most(0.1, "100ms"),
       most(1, "1s")},
      {"exact metric", memory, "B", 0.95, most(2.0 * (1 << 30), "2GiB"), most(1 << 20, "1MiB"), most(1 << 30, "1GiB")},
      {"exists", gainCells(), "x", 0.95, more(1.2, "1.2x"), more(2, "2x"), more(1.5, "1.5x"), Quantifier::Exists},
      {"agreement with a reference", like, "x", 0.95, more(1, "1x"), more(1, "1x"), more(1, "1x"), Quantifier::ForAll,
       "forall gpus: gain[fp32] like paper.table2 within 10%"},
  };
}

/// Returns the answer to a criterion by these records.
std::string answered(const plan::Plan& plan, plan::Criterion criterion, const Records& records,
                     const std::function<void(judge::CriterionResult&)>& change = nullptr) {
  plan::Plan whole = plan;
  whole.criteria = {std::move(criterion)};
  describe::Conclusions judgement = describe::conclude(whole, records.results);
  if (change) change(judgement.criteria[0]);
  const describe::Findings findings{whole, judgement, records.results};
  return answerText(findings, judgedOf(whole, judgement)[0]);
}

/// fp32 on both numbers of GPUs: a speed-up, or (and, for `ForAll`) a limit of memory.
plan::Criterion joinedClaim(Quantifier kind, double gain, std::string gain_text, double bytes, std::string bytes_text) {
  plan::Criterion claim = gainAndMemory();
  claim.assertions = {{"gain >= " + gain_text, false, bound(Relation::GreaterEqual, gain, ">= " + gain_text), "x"},
                      {"memory <= " + bytes_text, false, bound(Relation::LessEqual, bytes, "<= " + bytes_text), "B"}};
  const auto leaf = [](unsigned cell) { return plan::Claim{Quantifier::Cell, {}, cell}; };
  claim.claim = {Quantifier::ForAll, {{kind, {leaf(0), leaf(2)}, 0}, {kind, {leaf(1), leaf(3)}, 0}}, 0};
  claim.name = "joined";
  return claim;
}

/// Returns every form with every outcome, a line each.
std::string everyAnswer() {
  Records some, few, one;
  some.pairs(8, 1.5);
  some.pairs(8, 1.5, 0.01, "bf16");
  few.pairs(3, 1.5);
  few.pairs(3, 1.5, 0.01, "bf16");
  one.pairs(1, 1.5);
  one.pairs(1, 1.5, 0.01, "bf16");
  std::string out;
  for (const FormCase& form : forms()) {
    const auto claim = [&](const Bound& held) {
      plan::Criterion made = criterion(form.cells, held, form.unit, form.confidence, form.kind);
      made.text = form.text.empty() ? "claim " + held.text : form.text;
      return made;
    };
    const auto line = [&](const char* outcome, const std::string& text) {
      out += fmt::format("{}: {}\n", outcome, text);
    };
    out += fmt::format("## {}\n", form.name);
    line("pass", answered(study(8), claim(form.passes), some));
    line("fail", answered(study(8), claim(form.fails), some));
    line("open", answered(study(8), claim(form.open), some));
    line("few", answered(study(8), claim(form.passes), few));
    line("n=1", answered(study(1), claim(form.passes), one));
    line("provisional", answered(study(9), claim(form.passes), some));
    line("untrusted", answered(study(8), claim(form.passes), some, [](judge::CriterionResult& result) {
           result.untrusted = judge::Distrust{
               {"again", id("fp64", 1), "step_time", true, exampleCell(0, 1.05, Verdict::NotRun)}, 0.05, true};
         }));
    line("not run", answered(study(8), claim(form.passes), {}));
    line("broken", answered(study(8), claim(form.passes), some, [](judge::CriterionResult& result) {
           result.verdict = Verdict::Broken;
           result.why = exampleWhy("precision=fp32 gpus=1 failed in every trial: no such program");
         }));
    line("not asked", answered(study(8), claim(form.passes), some, [](judge::CriterionResult& result) {
           result.verdict = Verdict::NotAsked;
           result.why = plan::because({.code = Reason::NotAsked});
         }));
    out += '\n';
  }
  for (const auto& [name, kind] :
       {std::pair("one of two claims", Quantifier::Exists), {"two claims", Quantifier::ForAll}}) {
    out += fmt::format("## {}\n", name);
    out += "pass: " + answered(study(8), joinedClaim(kind, 1.2, "1.2x", 0x1p31, "2GiB"), some) + "\n";
    out += "fail: " + answered(study(8), joinedClaim(kind, 2, "2x", 0x1p20, "1MiB"), some) + "\n";
    out += "open: " +
           answered(study(8),
                    joinedClaim(kind, 1.5, "1.5x", kind == Quantifier::Exists ? 0x1p20 : 0x1p31,
                                kind == Quantifier::Exists ? "1MiB" : "2GiB"),
                    some) +
           "\n";
    out += "not run: " + answered(study(8), joinedClaim(kind, 1.2, "1.2x", 0x1p31, "2GiB"), {}) + "\n\n";
  }
  Records memory;
  for (const int gpus : {1, 2}) memory.runsOut(id("bf16", gpus), 1), memory.runsOut(id("bf16", gpus), 2);
  out += "## runs out of memory\npass: " + answered(study(2), outOfMemory(), memory) + "\n";
  memory.timed(id("bf16", 2), 3, 0.1);
  return out + "fail: " + answered(study(3), outOfMemory(), memory) + "\n";
}

}  // namespace

TEST_CASE("each form of claim has a sentence for each outcome") {
  // EXPC_UPDATE=1 writes the file; then read it aloud.
  const std::string path = expc::test::sourceDir() + "/tests/golden/answers.txt";
  const std::string found = everyAnswer();
  if (std::getenv("EXPC_UPDATE")) std::ofstream(path) << found;
  std::ifstream file(path);
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  CHECK(found == expected);
}

TEST_CASE("an answer says what the command line narrowed, and the GPU time of whole runs") {
  plan::Plan plan = study(8);
  for (plan::Metric& one : plan.metrics)
    if (one.name == "step_time") one.name = "total_time";
  for (plan::Point& point : plan.points) point.parameters["gpus"] = point.levels[1] + 1;
  std::vector<plan::Cell> cells = gainCells();
  cells.erase(cells.begin());  // two GPUs
  const auto time = [](const plan::Place& place) { return metric("total_time", place); };
  cells[0].term = term(plan::OperationTerm{Op::Ratio, {time(cells[0].points[1]), time(cells[0].points[0])}});
  Records records;
  records.pairs(8, 1.5);
  for (store::Trial& trial : records.results.trials) {
    trial.metrics["total_time"] = 36000 * trial.metrics["step_time"];
    trial.metrics.erase("step_time");
  }
  plan.criteria = {criterion(cells, bound(Relation::GreaterEqual, 1.2, ">= 1.2x"), "x", 0.95)};
  plan.overrides = {"gpus=2", "epochs=3"};
  const auto answer = [&] {
    const describe::Conclusions judgement = describe::conclude(plan, records.results);
    return answerOf({plan, judgement, records.results}).text();
  };
  CHECK(answer().find("(narrowed to gpus=2 and run with epochs=3 by -D). Estimate: ") != std::string::npos);
  CHECK(answer().find(", total_time 84.0 min → 55.5 min, GPU time 2.80 h → 1.85 h)") != std::string::npos);
  // Cores of a CPU are no GPUs.
  records.results.sessions[0].environment_json = R"({"slots":[{"device":"cpu"}]})";
  CHECK(answer().find("GPU time") == std::string::npos);
}

}  // namespace expc::report::answers
