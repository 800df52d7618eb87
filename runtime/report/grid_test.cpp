#include "runtime/report/grid.h"

#include <doctest/doctest.h>

#include <utility>

#include "runtime/report/sections.h"
#include "runtime/report/wording.h"
#include "tests/support/report/example_results.h"

using namespace expc;
using namespace expc::report;

TEST_CASE("a metric by two factors: rows and columns in the order of the levels") {
  const Example example = exampleResults();
  const Grid grid = buildGrid(example.plan, example.judgement, "step_time", {"gpus", "precision"});
  CHECK(grid.row_factors == std::vector<std::string>{"gpus"});
  CHECK(grid.column_factor == "precision");
  CHECK(grid.columns == std::vector<std::string>{"fp64", "fp32", "bf16"});
  REQUIRE(grid.rows.size() == 2);
  CHECK(grid.cells[0][0].estimate == 0.0412);
  CHECK(grid.cells[0][0].n == 7);
  CHECK(grid.cells[1][0].estimate == 0.0231);
  CHECK(grid.cells[1][2].note == "not available");
  CHECK_FALSE(grid.comparison);
}

TEST_CASE("a factor that is not named but varies makes rows, so no value hides another") {
  const Example example = exampleResults();
  const Grid grid = buildGrid(example.plan, example.judgement, "step_time", {"gpus"});
  CHECK(grid.row_factors == std::vector<std::string>{"precision"});
  CHECK(grid.column_factor == "gpus");
  CHECK(grid.rows.size() == 3);
  const Grid none = buildGrid(example.plan, example.judgement, "step_time", {});
  CHECK(none.rows.size() == 3);
  CHECK(none.columns == std::vector<std::string>{"1", "2"});
}

TEST_CASE("a comparison has its own factors and a neutral value") {
  const Example example = exampleResults();
  const Grid grid = buildGrid(example.plan, example.judgement, "gain", {"precision", "gpus"});
  CHECK(grid.comparison);
  CHECK(grid.neutral == 1.0);
  CHECK(grid.rows == std::vector<std::vector<std::string>>{{"fp32"}, {"bf16"}});
  CHECK(grid.cells[0][0].estimate == 1.54);
  CHECK(grid.cells[1][1].note == "needs 6 pairs, has 0");
  CHECK(buildGrid(example.plan, example.judgement, "speed", {"gpus"}).rows.empty());
}

TEST_CASE("a table says why values that go on have no intervals") {
  Example example = exampleResults();
  const auto rest = [&] {
    return gridPart(example.plan, buildGrid(example.plan, example.judgement, "step_time", {"gpus"}), "step_time").rest;
  };
  CHECK(rest().find(", 95 % intervals;") != std::string::npos);
  example.judgement.summaries.front().correlation = 0.4;
  CHECK(rest().find("95 % intervals that allow for a correlation of 0.40 between consecutive trials;") !=
        std::string::npos);
  example.judgement.summaries.front().correlation = 0;
  bool one = true;
  for (const bool all : {false, true}) {
    for (judge::Summary& summary : example.judgement.summaries)
      if (summary.metric == "step_time" && (all || std::exchange(one, false)))
        summary.interval.reset(), summary.trend = 0.9;
    CHECK(rest().find(all ? "without an interval, since values rise or fall over the run (Kendall's tau 0.90);"
                          : "95 % intervals, but not where values rise or fall over the run (Kendall's tau 0.90);") !=
          std::string::npos);
  }
}

TEST_CASE("why a metric has no value") {
  Example example = exampleResults();
  const plan::Metric accuracy = *example.plan.findMetric("accuracy");
  const auto note = [&](const plan::Metric& metric) {
    return metricCell(example.plan, example.judgement, example.plan.points[0], metric).note;
  };
  CHECK(note(accuracy) == "");
  example.judgement.summaries.clear();
  CHECK(note(accuracy) == "not measured");
  for (judge::PointStatus& status : example.judgement.points) status.not_on_device = {"accuracy"};
  CHECK(note(accuracy) == "not on this device");
  plan::Metric twice = accuracy;
  twice.name = "twice";
  twice.derived = std::make_shared<plan::Term>(plan::Term{plan::MetricTerm{"accuracy", ""}});
  example.plan.metrics.push_back(twice);
  CHECK(note(twice) == "not on this device");
  example.judgement.points[1].valid = 0;
  CHECK(note(accuracy) == "not run");
  example.judgement.points[1].failed = 1;
  CHECK(note(accuracy) == "failed");
  example.judgement.points[1].timeouts = 1;
  CHECK(note(accuracy) == "timeout");
  example.judgement.points[1].limit = 90;
  CHECK(note(accuracy) == "timeout after 1 min 30 s");
  example.judgement.points[1].infeasible = 2;
  CHECK(note(accuracy) == "infeasible");
}

TEST_CASE("a value tells of the trials beside it that gave none") {
  Example example = exampleResults();
  for (judge::PointStatus& status : example.judgement.points) {
    status.infeasible = 1;
    status.limit = 10;
    status.memory_reason = "killed by the kernel: out of memory";
  }
  const plan::Metric& metric = *example.plan.findMetric("step_time");
  GridCell cell = metricCell(example.plan, example.judgement, example.plan.points[0], metric);
  CHECK(valueCell(cell).inText(" ").ends_with(", unstable: out of memory in 1 block"));
  cell.timeouts = 2;
  CHECK(valueCell(cell).inText(" ").ends_with(", 2 timed out after 10 s, unstable: out of memory in 1 block"));
}

TEST_CASE("what is not there and what is doubtful is said for each point") {
  Example example = exampleResults();
  CHECK(shortcomings(example.plan, example.judgement).empty());
  judge::PointStatus& status = example.judgement.points[0];
  status.lacking = true;
  status.valid = 3;
  status.infeasible = 1;
  status.memory_reason = "killed by the kernel: out of memory";
  status.superseded = 2;
  const auto lines = shortcomings(example.plan, example.judgement);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].find(": 3 of 7 blocks; expc has stopped retrying (--retry-failed tries again)") != std::string::npos);
  CHECK(lines[1].find(" is unstable: out of memory in 1 block, 3 valid trials beside: killed by the kernel: out of "
                      "memory") != std::string::npos);
  CHECK(lines[2].find(": 2 timeouts ignored, because another trial had a longer limit") != std::string::npos);
}

TEST_CASE("a cell says what it rests on") {
  GridCell cell;
  cell.dimension = "share";
  cell.estimate = 0.5;
  cell.n = 1;
  CHECK(valueCell(cell).inText(" ") == "50.0 % n=1");
  cell.n = 7;
  cell.constant = true;
  CHECK(valueCell(cell).inText("\n") == "50.0 %\nconstant, n=7");
  cell.constant = false;
  cell.interval = stats::Interval{0.48, 0.52, 0.95};
  CHECK(valueCell(cell).inText(" ") == "50.0 % [48.0, 52.0]");
  cell.timeouts = 1;
  CHECK(valueCell(cell).inText(" ") == "50.0 % [48.0, 52.0], 1 timed out");
  cell.estimate.reset();
  CHECK(valueCell(cell).inText(" ") == "[48.0 %, 52.0 %]");
  CHECK(valueCell(GridCell{}).inText(" ") == "—");
}
