#include "runtime/report/grid.h"

#include <doctest/doctest.h>

#include "runtime/report/chart.h"
#include "runtime/report/example_results.h"
#include "runtime/report/forest.h"
#include "runtime/report/wording.h"

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

TEST_CASE("why a metric has no value") {
  Example example = exampleResults();
  const plan::Metric accuracy = *example.plan.findMetric("accuracy");
  const auto note = [&](const plan::Metric& metric) {
    return metricCell(example.plan, example.judgement, example.plan.points[0], metric).note;
  };
  CHECK(note(accuracy) == "");
  example.judgement.summaries.clear();
  CHECK(note(accuracy) == "not measured");
  for (analysis::PointStatus& status : example.judgement.points) status.not_on_device = {"accuracy"};
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
  for (analysis::PointStatus& status : example.judgement.points) {
    status.infeasible = 1;
    status.limit = 10;
    status.memory_reason = "killed by the kernel: out of memory";
  }
  const plan::Metric& metric = *example.plan.findMetric("step_time");
  GridCell cell = metricCell(example.plan, example.judgement, example.plan.points[0], metric);
  CHECK(asideText(cell) == ", unstable: out of memory in 1 block");
  cell.timeouts = 2;
  CHECK(asideText(cell) == ", 2 timed out after 10 s, unstable: out of memory in 1 block");
}

TEST_CASE("what is not there and what is doubtful is said for each point") {
  Example example = exampleResults();
  CHECK(shortcomings(example.plan, example.judgement).empty());
  analysis::PointStatus& status = example.judgement.points[0];
  status.lacking = true;
  status.valid = 3;
  status.infeasible = 1;
  status.memory_reason = "killed by the kernel: out of memory";
  status.superseded = 2;
  const auto lines = shortcomings(example.plan, example.judgement);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].find(": 3 of 7 repetitions, and nothing more is tried by itself (--retry-failed does)") !=
        std::string::npos);
  CHECK(lines[1].find(" is unstable: out of memory in 1 block, 3 valid trials beside: killed by the kernel: out of "
                      "memory") != std::string::npos);
  CHECK(lines[2].find(": 2 timeouts count for nothing, since a trial may take longer now") != std::string::npos);
}

TEST_CASE("a cell says what it rests on") {
  GridCell cell;
  cell.estimate = 0.5;
  cell.n = 1;
  CHECK(cellText(cell, "", "share", " ") == "50.0 % n=1");
  cell.n = 7;
  cell.constant = true;
  CHECK(cellText(cell, "", "share", "\n") == "50.0 %\nconstant, n=7");
  cell.constant = false;
  cell.interval = stats::Interval{0.48, 0.52, 0.95};
  CHECK(cellText(cell, "", "share", " ") == "50.0 % [48.0 %, 52.0 %]");
  cell.timeouts = 1;
  CHECK(cellText(cell, "", "share", " ") == "50.0 % [48.0 %, 52.0 %], 1 timed out");
  cell.estimate.reset();
  CHECK(cellText(cell, "", "share", " ") == "[48.0 %, 52.0 %]");
  CHECK(cellText(GridCell{}, "", "share", " ") == "—");
}

TEST_CASE("axes have units that people use") {
  CHECK(axisUnit("s", "time", 0.041).symbol == "ms");
  CHECK(axisUnit("s", "time", 0.041).factor == 1000);
  CHECK(axisUnit("s", "time", 90).symbol == "s");
  CHECK(axisUnit("s", "time", 600).factor == doctest::Approx(1.0 / 60));
  CHECK(axisUnit("B", "bytes", 0x1p29).symbol == "MiB");
  CHECK(axisUnit("", "share", 0.9).factor == 100);
  CHECK(axisUnit("x", "", 2).symbol == "×");
  CHECK(axisUnit("img/s", "images/time", 512).factor == 1);
}

TEST_CASE("a chart has every estimate, interval and block value") {
  const Example example = exampleResults();
  size_t left_out = 0;
  const Grid grid = buildGrid(example.plan, example.judgement, "gain", {"gpus", "precision"});
  std::vector<Chart> drawn = charts(example.plan, grid, left_out);
  REQUIRE(drawn.size() == 1);
  CHECK(left_out == 0);
  const llvm::json::Object& sets = *drawn[0].specification.getObject("datasets");
  CHECK(sets.getArray("cells")->size() == 3);
  CHECK(sets.getArray("intervals")->size() == 3);
  CHECK(sets.getArray("dots")->size() == 21);
  CHECK((*sets.getArray("cells"))[0].getAsObject()->getNumber("e") == 1.54);
}

TEST_CASE("infinite values stay out of drawings, and a grid without values draws nothing") {
  Example example = exampleResults();
  for (analysis::Summary& summary : example.judgement.summaries) {
    summary.median = HUGE_VAL;
    summary.interval = stats::Interval{0.04, HUGE_VAL, 0.95};
  }
  size_t left_out = 0;
  const Grid grid = buildGrid(example.plan, example.judgement, "step_time", {"gpus", "precision"});
  CHECK(charts(example.plan, grid, left_out).empty());
  std::vector<GridCell> cells = {grid.cells[0][0]};
  const Forest forest(cells, std::nullopt, std::nullopt, false, "s", "time");
  for (const char* word : {"inf\"", "nan"}) CHECK(forest.row(cells[0]).find(word) == std::string::npos);

  example.judgement.summaries.clear();
  CHECK(charts(example.plan, buildGrid(example.plan, example.judgement, "step_time", {"gpus"}), left_out).empty());
  CHECK(Forest({GridCell{}}, std::nullopt, 1.0, true, "x", "").empty());
}

TEST_CASE("many combinations make a bounded number of charts, and the rest is counted") {
  Example example = exampleResults();
  Grid grid;
  grid.subject = "step_time";
  grid.unit = "s";
  grid.row_factors = {"size", "gpus"};
  grid.columns = {"step_time"};
  GridCell cell;
  cell.estimate = 1;
  for (int size = 0; size < 20; ++size)
    for (int gpus = 1; gpus < 4; ++gpus) {
      grid.rows.push_back({std::to_string(size), std::to_string(gpus)});
      grid.cells.push_back({cell});
    }
  size_t left_out = 0;
  const auto drawn = charts(example.plan, grid, left_out);
  CHECK(drawn.size() == kMaxCharts);
  CHECK(left_out == 8);
  CHECK(drawn[1].caption == "size=1");
}
