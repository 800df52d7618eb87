#include <doctest/doctest.h>
#include <llvm/Support/MemoryBuffer.h>

#include "runtime/base/files/marks.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/export/formats.h"
#include "runtime/export/python.h"
#include "tests/source_dir.h"
#include "tests/support/report/example_results.h"
#include "tests/support/text/has.h"

namespace expc::exports {
namespace {

constexpr const char* kEvil = "<script>alert(\"1\")</script>, @all & #7";

std::vector<Source> example(std::string study = "precision") {
  report::Example example = report::exampleResults();
  Source source;
  source.plan = example.plan;
  source.plan.study = std::move(study);
  source.results = example.results;
  source.judgement = example.judgement;
  store::Trial valid = example.results.trials[0];
  valid.block = 3;
  valid.session = 1;
  valid.started = 1763700000.25;
  valid.metrics = {{"step_time", 0.1}, {"host_memory_peak", 1024}};
  valid.series = {{"loss", {2.5, 1.25}}};
  source.results.trials = {valid};
  store::Trial other = valid;  // from another build of the worker
  other.id = 5;
  other.metrics = {{"step_time", 0.2}};
  source.history.trials = {valid, example.results.trials[1], other};
  source.history.sessions[1] = example.results.sessions[0];
  source.history.blocks[3] = {3, "earlier", plan::TrialKind::Timed, 2, 0xff, 1};
  std::vector<Source> sources;
  sources.push_back(std::move(source));
  return sources;
}

std::string csv(const std::vector<Source>& sources, bool series = false) {
  std::string text;
  llvm::raw_string_ostream out(text);
  writeCsv(series ? exports::series(sources) : measurements(sources), out);
  return text;
}

std::string json(const std::vector<Source>& sources) {
  std::string text;
  llvm::raw_string_ostream out(text);
  writeJson(sources, out);
  return text;
}

using expc::test::has;

TEST_CASE("no export is an input of the commands that are measured") {
  const auto sources = example();
  for (const std::string& text : {csv(sources), json(sources), junit(sources), markdown(sources)})
    CHECK_MESSAGE(files::isOurs(text), text.substr(0, 60));
  CHECK(!files::isOurs("study,point\n1,2\n"));
}

TEST_CASE("a row for each trial and metric, and one for a trial without values") {
  const auto sources = example();
  const std::string text = csv(sources);
  CHECK(std::ranges::count(text, '\n') >= 5);
  CHECK(text.starts_with(
      "study,point,label,control,kind,trial,counts,metric,unit,better,derived,value,diverged,status,"));
  const std::string id = sources[0].plan.points[0].id;
  CHECK(has(text, "precision," + id +
                      ",precision=fp64 gpus=1,,timed,1,true,step_time,s,lower,false,0.1,false,valid,,,0,1,"
                      "node07,3,earlier,2,0x00000000000000ff,0,1,2025-11-21T04:40:00.250000Z,"));
  CHECK(has(text, ",5,false,step_time,s,lower,false,0.2,"));
  CHECK(has(text, ",2,false,,,,,,,failed,"));
  CHECK(has(text, ",fp64,1\n"));  // a factor of numbers stays a number
}

TEST_CASE("series are a long table") {
  const std::string text = csv(example(), true);
  CHECK(text.starts_with("study,point,label,control,kind,trial,counts,series,unit,step,value,factor_precision,"));
  CHECK(has(text, ",1,true,loss,,1,2.5,fp64,1\n"));
  CHECK(has(text, ",1,true,loss,,2,1.25,fp64,1\n"));
}

TEST_CASE("a metric that is derived is computed from the trial's own values") {
  auto sources = example();
  plan::Metric derived{"per_kib", "", "", plan::Direction::Lower, plan::TrialKind::Timed, false};
  derived.derived = std::make_shared<const plan::Term>(
      plan::Term{plan::OperationTerm{plan::OperationTerm::Op::Quotient,
                                     {plan::metricTerm("host_memory_peak", ""), plan::metricTerm("step_time", "")}}});
  sources[0].plan.metrics.push_back(derived);
  CHECK(has(csv(sources), ",1,true,per_kib,,lower,true,10240.0,"));
  CHECK_FALSE(has(csv(sources), ",5,false,per_kib"));  // the trial has no memory metric
}

TEST_CASE("reals have a point, and texts that a spreadsheet would compute may be made harmless") {
  auto sources = example("=1+1");
  sources[0].history.trials[0].metrics = {{"step_time", 7}, {"host_memory_peak", -1e21}};
  sources[0].history.trials[0].notes = {"@x, y"};
  std::string text = csv(sources);
  CHECK(has(text, "step_time,s,lower,false,7.0,"));
  CHECK(has(text, "host_memory_peak,B,lower,false,-1.0e+21,"));
  CHECK(has(text, "\n=1+1,"));
  text.clear();
  llvm::raw_string_ostream out(text);
  writeCsv(measurements(sources), out, /*formulas=*/false);
  CHECK(has(text, "\n'=1+1,"));
  CHECK(has(text, "\"'@x, y\""));
  CHECK(has(text, ",-1.0e+21,"));
}

TEST_CASE("services that follow benchmarks get medians") {
  const auto sources = example();
  const auto* summary = sources[0].judgement.find(sources[0].plan.points[0].id, "step_time");
  REQUIRE(summary);
  const std::string median = fmt::format("{}", *summary->median);
  CHECK(has(bencher(sources), "\"precision precision=fp64 gpus=1\": {"));
  CHECK(has(bencher(sources), "\"value\": " + median));
  CHECK(has(actionBenchmark(sources, plan::Direction::Lower),
            "\"name\": \"precision precision=fp64 gpus=1: step_time\""));
  CHECK_FALSE(has(actionBenchmark(sources, plan::Direction::Higher), "step_time"));
  const std::string text = openMetrics(example(kEvil));
  CHECK(text.starts_with("# TYPE expc_"));
  CHECK(text.ends_with("\n# EOF\n"));
  CHECK(has(text, "# UNIT expc_step_time_seconds seconds\n"));
  CHECK(has(text, R"({study="<script>alert(\"1\")</script>, @all & #7",point=")"));
  CHECK(has(text, R"(factor_gpus="1",factor_precision="fp64",of="median"} )" + median + "\n"));
}

TEST_CASE("JSON holds the tables with their columns, and what report prints") {
  auto value = base::parseJson(json(example()));
  REQUIRE(value);
  const json::Object& object = *value->getAsObject();
  CHECK(object.getString("schema") == "expc.export/1");
  CHECK(object.getArray("measurements")->size() == 4);
  const json::Object& row = *(*object.getArray("measurements"))[0].getAsObject();
  CHECK(row.getNumber("value") == 0.1);
  CHECK(row.getInteger("factor_gpus") == 1);
  CHECK_FALSE(row.get("reason"));
  CHECK(object.getArray("series")->size() == 4);  // from two trials
  CHECK((*object.getArray("reports"))[0].getAsObject()->getString("schema") == "expc.report/1");
}

TEST_CASE("JUnit: what fails is a failure, what is not asked is skipped, what is open is an error") {
  auto sources = example();
  const std::string text = junit(sources);
  CHECK(has(text, R"(<testsuites name="expc" tests="3" failures="1" errors="0">)"));
  CHECK(has(text, R"(errors="0" skipped="1" time=")"));
  CHECK(has(text, "<failure type=\"FAIL\" message=\"FAIL: accuracy &lt; 90%"));
  sources[0].judgement.criteria[0].untrusted = report::exampleDistrust(sources[0].plan);
  CHECK(has(junit(sources), R"(failures="1" errors="1" skipped="1")"));
  CHECK(has(junit(sources), "<error type=\"undecided\" message=\"PASS (untrusted): "));
}

TEST_CASE("what comes from users is text in every format") {
  const auto sources = example(kEvil);
  CHECK(has(csv(sources), "\"<script>alert(\"\"1\"\")</script>, @all & #7\","));
  REQUIRE(base::parseJson(json(sources)));
  for (const std::string& text : {junit(sources), markdown(sources)}) {
    CHECK_FALSE(has(text, "<script"));
    CHECK_FALSE(has(text, "<b>"));
    CHECK_FALSE(has(text, "\033"));
  }
  CHECK(has(markdown(sources), "### &lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;, @&#8203;all &amp; #&#8203;7\n"));
  CHECK(markdownText("a|b\n- [x](http://y) `c` \\ *d* _e_") ==
        "a&#124;b - &#91;x&#93;(http:&#8203;//y) &#96;c&#96; &#92; &#42;d&#42; &#95;e&#95;");
  CHECK(xml("a\x01\xef\xbf\xbf'\"") == "a\\x01\xef\xbf\xbd&#39;&quot;");
}

TEST_CASE("a summary has the cells of a criterion as a table, and in sight what is missing") {
  const std::string text = markdown(example());
  // A comment has its limit: the last parts go first, and a line counts them.
  const std::string cut = markdown(example(), 1500);
  CHECK(cut.size() < text.size());
  CHECK(has(cut, "left out, since a comment has its limit"));
  CHECK(has(cut, "fp32&#95;pays"));
  CHECK(has(text,
            "<details><summary>fp32&#95;pays, cell by cell</summary>\n\n| gpus | verdict | estimate | interval | n |\n"
            "| --- | --- | --- | --- | --- |\n| 1 | PASS | 1.54x | &#91;1.52x, 1.57x&#93; | 7 |\n"));
  CHECK(has(text,
            "<details><summary>gain: speedup(step&#95;time) over precision against fp64; from pairs of one block, with "
            "95 % intervals; differs from the quotient or difference of medians</summary>"));
  CHECK(has(text, "\n\nStored but ignored (3 trials):\n\n- 3 trials with steps 10 instead of 20\n"));
  CHECK_FALSE(has(text, "<svg"));
}

TEST_CASE("the documentation lists every column") {
  auto page = llvm::MemoryBuffer::getFile(expc::test::sourceDir() + "/docs/export.md");
  REQUIRE(page);
  const std::string text = (*page)->getBuffer().str();
  const std::vector<Source> none;
  for (const Table& table : {measurements(none), series(none)})
    for (const Column& column : table.columns)
      CHECK_MESSAGE(
          has(text, "| `" + column.name + "` | " + std::string(toString(column.type)) + " | " + column.what + " |"),
          column.name);
}

TEST_CASE("a script that says much before it reads its input ends all the same") {
  const std::string script =
      "import sys\n"
      "sys.stderr.write('x' * 200000 + '\\nwhy\\n')\n"
      "sys.exit(1 if len(sys.stdin.read()) == 200000 else 2)\n";
  const auto feed = [](llvm::raw_ostream& in) { in << std::string(200'000, 'y'); };
  const std::string said = toString(runPython(script, {}, feed, {"a package", "none", "nothing works"}, "the script"));
  if (said.starts_with("the script: it needs a package")) return;  // this build has no interpreter
  CHECK(said == "the script: why");
}

TEST_CASE("times and numbers read back") {
  CHECK(timeText({0}) == "1970-01-01T00:00:00.000000Z");
  CHECK(timeText({-1e300}) == "1970-01-01T00:00:00.000000Z");
  CHECK(timeText({1e300}).starts_with("9999-12-31"));
}

}  // namespace
}  // namespace expc::exports
