#include "runtime/report/chart.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "runtime/base/json.h"
#include "runtime/describe/attribution.h"
#include "runtime/report/assets.h"
#include "tests/support/report/example_results.h"

using namespace expc;
using namespace expc::report;
using llvm::json::Object;

namespace {

std::vector<Chart> drawn(const Example& example, const Grid& grid) {
  size_t left_out = 0;
  return charts(example.plan, grid, left_out);
}

/// Returns the encoding of a channel that all layers share.
const Object& encodingOf(const Chart& chart, const char* channel) {
  return *chart.specification.getObject("encoding")->getObject(channel);
}

/// Returns the layer with this field on its y axis; null if there is none.
const Object* layerOf(const Chart& chart, llvm::StringRef field) {
  for (const auto& layer : *chart.specification.getArray("layer"))
    if (const Object* encoding = layer.getAsObject()->getObject("encoding"))
      if (const Object* y = encoding->getObject("y"); y && y->getString("field") == field) return layer.getAsObject();
  return nullptr;
}

const llvm::json::Array& cellsOf(const Chart& chart) {
  return *chart.specification.getObject("datasets")->getArray("cells");
}

/// Returns the cells that have the field.
std::vector<const Object*> cellsWith(const Chart& chart, llvm::StringRef field) {
  std::vector<const Object*> found;
  for (const auto& cell : cellsOf(chart))
    if (cell.getAsObject()->get(field)) found.push_back(cell.getAsObject());
  return found;
}

/// Checks members that a chart has for every study: an axis, a legend, a column and a line of a tooltip have a title, a
/// scale has a domain.
void checkWhole(const llvm::json::Value& part) {
  if (const llvm::json::Array* elements = part.getAsArray())
    for (const auto& element : *elements) {
      if (const Object* object = element.getAsObject(); object && object->get("field")) CHECK(object->get("title"));
      checkWhole(element);
    }
  if (const Object* members = part.getAsObject())
    for (const auto& [name, member] : *members) {
      INFO(name.str());
      if (name == "axis" || name == "legend") CHECK(member.getAsObject()->get("title"));
      if (name == "scale") CHECK(member.getAsObject()->get("domain"));
      if (name != "datasets" && name != "transform") checkWhole(member);
    }
}

void checkWhole(const std::vector<Chart>& charts) {
  REQUIRE(!charts.empty());
  for (const Chart& chart : charts) {
    checkWhole(Object(chart.specification));
    for (const char* key : {"width", "height", "usermeta"}) CHECK(chart.specification.get(key));
    CHECK(!cellsOf(chart).empty());
  }
}

Object filledIn(const char* file, const char* study) {
  return filled(file, *llvm::cantFail(base::parseJson(study)).getAsObject());
}

FactorAxis axisOf(std::vector<plan::Level> levels) {
  plan::Plan plan;
  std::set<unsigned> shown;
  for (unsigned level = 0; level < levels.size(); ++level) shown.insert(level);
  plan.factors = {{"f", std::move(levels), std::nullopt, {}}};
  return factorAxis(plan, "f", shown);
}

}  // namespace

TEST_CASE("a hole has the study's value, and what has none is left out") {
  CHECK(filledIn(R"j({"a": "${x}", "b": "${y.z} of ${x}", "c": ["${x}", "${none}", 1], "d": {"e": "${y.none}"}})j",
                 R"j({"x": 2.5, "y": {"z": "part"}})j") ==
        *llvm::cantFail(base::parseJson(R"j({"a": 2.5, "b": "part of 2.5", "c": [2.5, 1], "d": {}})j")).getAsObject());
  // A text of the study that looks like a hole stays as it is.
  CHECK(filledIn(R"j({"a": "${x}", "b": "<${x}>"})j", R"j({"x": "${x}"})j").getString("b") == "<${x}>");
}

TEST_CASE("an object with a condition stays, is left out, or is another") {
  const char* file =
      R"j({"a": [{"if": "x", "k": 1}, {"if": "y", "k": 2}], "b": {"if": "x.z", "k": 3, "else": "${w}"}})j";
  const auto list = [&](const char* study) { return *filledIn(file, study).getArray("a"); };
  CHECK(list(R"j({"x": []})j") == llvm::json::Array{Object{{"k", 1}}});
  CHECK(list(R"j({"x": false, "y": true})j") == llvm::json::Array{Object{{"k", 2}}});
  CHECK(filledIn(file, R"j({"x": {"z": 0}})j").getObject("b")->getInteger("k") == 3);
  CHECK(filledIn(file, R"j({"w": "other"})j").getString("b") == "other");
  CHECK_FALSE(filledIn(file, "{}").get("b"));
}

TEST_CASE("axes have units that people use") {
  const auto axis = [](const char* unit, const char* dimension, double largest) {
    return valueAxis("v", unit, dimension, Extent{0, largest});
  };
  CHECK(axis("s", "time", 0.041).settings.getString("title") == "v (ms)");
  CHECK(axis("s", "time", 0.041).factor == 1000);
  CHECK(axis("s", "time", 90).settings.getString("title") == "v (s)");
  CHECK(axis("s", "time", 600).factor == doctest::Approx(1.0 / 60));
  CHECK(axis("B", "bytes", 0x1p29).settings.getString("unit") == " (MiB)");
  CHECK(axis("", "share", 0.9).factor == 100);
  CHECK(axis("x", "", 2).settings.getString("unit") == " (×)");
  CHECK(axis("img/s", "images/time", 512).factor == 1);
}

TEST_CASE("a chart has every estimate, interval and block value") {
  const Example example = exampleResults();
  size_t left_out = 0;
  const Grid grid = buildGrid(example.plan, example.judgement, "gain", {"gpus", "precision"});
  std::vector<Chart> drawn = charts(example.plan, grid, left_out);
  REQUIRE(drawn.size() == 1);
  CHECK(left_out == 0);
  CHECK(cellsOf(drawn[0]).size() == 3);
  CHECK(cellsWith(drawn[0], "l").size() == 3);
  CHECK(cellsWith(drawn[0], "h").size() == 3);
  size_t dots = 0;
  for (const Object* cell : cellsWith(drawn[0], "v")) dots += cell->getArray("v")->size();
  CHECK(dots == 21);
  CHECK(layerOf(drawn[0], "v"));
  CHECK(cellsOf(drawn[0])[0].getAsObject()->getNumber("e") == 1.54);
}

TEST_CASE("infinite values stay out of drawings, and a grid without values draws nothing") {
  Example example = exampleResults();
  for (judge::Summary& summary : example.judgement.summaries) {
    summary.median = INFINITY;
    summary.interval = stats::Interval{0.04, INFINITY, 0.95};
  }
  size_t left_out = 0;
  const Grid grid = buildGrid(example.plan, example.judgement, "step_time", {"gpus", "precision"});
  CHECK(charts(example.plan, grid, left_out).empty());
  std::vector<GridCell> cells = {grid.cells[0][0]};
  const std::string row = forest(cells, std::nullopt, std::nullopt, false).rows.at(0);
  for (const char* word : {"inf\"", "nan"}) CHECK(row.find(word) == std::string::npos);

  example.judgement.summaries.clear();
  CHECK(charts(example.plan, buildGrid(example.plan, example.judgement, "step_time", {"gpus"}), left_out).empty());
  CHECK(forest({GridCell{}}, std::nullopt, 1.0, true).rows.empty());
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
  for (unsigned size = 0; size < 20; ++size)
    for (unsigned gpus = 1; gpus < 4; ++gpus) {
      grid.row_levels.push_back({size, gpus});
      grid.rows.push_back({std::to_string(size), std::to_string(gpus)});
      grid.cells.push_back({cell});
    }
  size_t left_out = 0;
  const auto drawn = charts(example.plan, grid, left_out);
  CHECK(drawn.size() == kMaxCharts);
  CHECK(left_out == 8);
  CHECK(drawn[1].caption == "size=1");
}

TEST_CASE("numbers lie where they are, words at equal distances") {
  const FactorAxis linear = axisOf({{"1", 1}, {"2", 2}, {"3", 3}, {"4", 4}});
  CHECK(linear.places == std::map<std::string, double>{{"1", 1}, {"2", 2}, {"3", 3}, {"4", 4}});
  CHECK(*linear.settings.getString("scale") == "linear");
  const FactorAxis doubling = axisOf({{"32px", 32}, {"64px", 64}, {"128px", 128}, {"256px", 256}});
  CHECK(*doubling.settings.getArray("levels") == llvm::json::Array{"32px", "64px", "128px", "256px"});
  CHECK(*doubling.settings.getString("scale") == "log");
  CHECK(*doubling.settings.getArray("places") == llvm::json::Array{32.0, 64.0, 128.0, 256.0});
  CHECK(axisOf({{"1", 1}, {"2", 2}, {"5", 5}, {"10", 10}}).settings.getString("scale") == "log");
  CHECK(axisOf({{"0", 0}, {"1", 1}, {"2", 2}}).settings.getString("scale") == "linear");
  const FactorAxis zero = axisOf({{"0", 0}, {"1", 1}, {"10", 10}, {"100", 100}, {"10000", 10000}});
  CHECK(*zero.settings.getArray("places") == llvm::json::Array{0.0, 1.0, 10.0, 100.0, 10000.0});
  CHECK(*zero.settings.getString("scale") == "symlog");
  CHECK(zero.narrowest > 0.05);
  CHECK(
      axisOf({{"-1000", -1000}, {"-10", -10}, {"0", 0}, {"10", 10}, {"1000", 1000}}).settings.getNumber("linear_to") ==
      10);
  CHECK(axisOf({{"fp32", "fp32"}, {"2", "2"}}).places.empty());
  CHECK(axisOf({{"false", false}, {"true", true}}).places.empty());
  CHECK(axisOf({{"4", 4}}).places.empty());
}

TEST_CASE("an axis says what it is, and a logarithmic one names round numbers") {
  Extent extent;
  extent.add(0.912);
  extent.add(1.004);
  const ValueAxis ratios = valueAxis("smaller", "x", "", extent, 1.0);
  CHECK(ratios.settings.getString("title") == "smaller (×, log)");
  const llvm::json::Array& named = *ratios.settings.getArray("ticks");
  REQUIRE(named.size() == 7);  // the points from 0.885 to 1.035
  CHECK(*named[0].getAsNumber() == doctest::Approx(0.9));
  CHECK(*named[6].getAsNumber() == doctest::Approx(1.02));
  extent.add(100);
  CHECK(valueAxis("smaller", "x", "", extent, 1.0).settings.get("ticks") == nullptr);
  Extent speeds;
  speeds.add(200 * 1048576.0);
  speeds.add(210 * 1048576.0);
  CHECK(valueAxis("speed", "B/s", "", speeds).settings.getString("title") == "speed (MiB/s)");
  CHECK(axisOf({{"1", 1}, {"2", 2}, {"5", 5}, {"10", 10}}).settings.getString("title") == "f (log)");
}

TEST_CASE("an interval that reaches zero is cut by the logarithmic axis of values that spread widely") {
  Extent extent;
  extent.add(0.01);
  extent.add(5);
  extent.add(stats::Interval{0, 20, 0.95});
  const ValueAxis axis = valueAxis("time", "s", "time", extent);
  CHECK(axis.settings.getString("title") == "time (s, log)");
  CHECK(axis.settings.getBoolean("cut") == true);
  CHECK(*axis.settings.getArray("extent") == llvm::json::Array{0.01, 20.0});
  extent.add(0);
  CHECK(valueAxis("time", "s", "time", extent).settings.getString("title") == "time (s)");
}

TEST_CASE("the scale of a drawing names both ends of a band, apart from no difference") {
  GridCell cell;
  cell.unit = "x";
  cell.estimate = 1;
  const plan::Bound band{plan::Relation::Within, 0.999, 1.001, "within 0.999x..1.001x"};
  const std::string axis = forest({cell}, band, std::nullopt, true).axis;
  CHECK(axis.find("class=\"bound-name\"") != std::string::npos);
  CHECK(axis.find(">0.999x<") != std::string::npos);
  CHECK(axis.find(">1.001x<") != std::string::npos);
}

TEST_CASE("levels that an axis of numbers would put on top of each other keep equal distances") {
  const FactorAxis axis = axisOf({{"1", 1}, {"1.001", 1.001}, {"1000", 1000}, {"1001", 1001}});
  CHECK(axis.settings.getBoolean("numbers") == true);
  CHECK(axis.places.empty());
}

TEST_CASE("levels with zero among them lie where they are, about zero as far apart as on an axis of equal steps") {
  const FactorAxis axis = axisOf({{"0", 0}, {"1", 1}, {"10", 10}, {"1000", 1000}});
  CHECK(*axis.settings.getArray("places") == llvm::json::Array{0.0, 1.0, 10.0, 1000.0});
  CHECK(axis.settings.getNumber("linear_to") == 1);
  CHECK(*axis.settings.getString("scale") == "symlog");
}

TEST_CASE("a level where the factor is not active has no place among numbers") {
  plan::Plan plan;
  plan.factors = {{"f", {{"1", 1}, {"2", 2}}, std::nullopt, {}}};
  const FactorAxis axis = factorAxis(plan, "f", {0, 1, plan::kInactive});
  CHECK(axis.settings.getBoolean("numbers") == false);
  CHECK(*axis.settings.getArray("levels") == llvm::json::Array{"1", "2", "–"});
}

TEST_CASE("a chart over a number has its levels for ticks, as they are written") {
  const Example example = exampleResults();
  const auto charts = drawn(example, buildGrid(example.plan, example.judgement, "step_time", {"gpus", "precision"}));
  REQUIRE(charts.size() == 1);
  const Object& x = encodingOf(charts[0], "x");
  CHECK(*x.getString("type") == "quantitative");
  CHECK(*x.getObject("axis")->getArray("values") == llvm::json::Array{1.0, 2.0});
  CHECK(charts[0].specification.getArray("params")->size() == 2);
  const Object& datum = *cellsOf(charts[0])[0].getAsObject();
  CHECK(*datum.getString("x") == "1");
  CHECK(*datum.getNumber("xp") == 1);
}

TEST_CASE("what scaling would ideally be is a line, and belongs to the axis") {
  Example example = exampleResults();
  plan::Comparison& gain = example.plan.comparisons[0];
  CHECK_FALSE(layerOf(drawn(example, buildGrid(example.plan, example.judgement, "gain", {"gpus"}))[0], "i"));
  gain.over = "gpus";
  for (plan::Cell& cell : gain.cells) cell.ideal = 8;
  const auto charts = drawn(example, buildGrid(example.plan, example.judgement, "gain", {"gpus", "precision"}));
  checkWhole(charts);
  REQUIRE(layerOf(charts[0], "i"));
  CHECK(cellsWith(charts[0], "i").size() == 3);
  // The ideal is the same for all columns, so there is one at each x.
  const Object& once = *(*layerOf(charts[0], "i")->getArray("transform"))[1].getAsObject();
  CHECK(*once.getArray("groupby") == llvm::json::Array{"x", "xp"});
  CHECK(*(*encodingOf(charts[0], "y").getObject("scale")->getArray("domain"))[1].getAsNumber() > 8);
  // With another factor on x the ideals make no line.
  const auto other = drawn(example, buildGrid(example.plan, example.judgement, "gain", {"precision", "gpus"}));
  CHECK_FALSE(layerOf(other[0], "i"));
  CHECK(cellsWith(other[0], "i").empty());
}

TEST_CASE("a rate has the ideal that its efficiency tells") {
  Example example = exampleResults();
  plan::Plan& plan = example.plan;
  const auto at = [&](size_t point) { return plan::Place(plan.points[point].id); };
  const auto metric = [&](size_t point) {
    return std::make_shared<plan::Term>(plan::Term{plan::MetricTerm{"step_time", at(point)}});
  };
  plan::Comparison scaling;
  scaling.name = "scaling";
  scaling.over = "gpus";
  plan::Cell cell;
  cell.points = {at(1), at(0)};
  cell.ideal = 1;
  const auto ratio = std::make_shared<plan::Term>(
      plan::Term{plan::OperationTerm{plan::OperationTerm::Op::Ratio, {metric(1), metric(0)}}});
  cell.term = std::make_shared<plan::Term>(plan::Term{plan::ScaleTerm{0.5, ratio}});
  scaling.cells = {cell};
  plan.comparisons = {scaling};
  const Grid grid = buildGrid(plan, example.judgement, "step_time", {"gpus", "precision"});
  CHECK(grid.ideal_over == "gpus");
  CHECK(grid.cells[0][0].ideal == doctest::Approx(0.0412));
  CHECK(grid.cells[1][0].ideal == doctest::Approx(0.0824));
  CHECK_FALSE(grid.cells[1][1].ideal);
}

TEST_CASE("what is published is drawn beside what was measured") {
  Example example = exampleResults();
  plan::Plan& plan = example.plan;
  plan.references = {{"table2", "table2.csv", {{plan.points[0].id, "step_time", 0.09}}}};
  const auto charts = drawn(example, buildGrid(plan, example.judgement, "step_time", {"gpus", "precision"}));
  checkWhole(charts);
  REQUIRE(layerOf(charts[0], "r"));
  const auto values = cellsWith(charts[0], "r");
  REQUIRE(values.size() == 1);
  CHECK(*values[0]->getNumber("r") == doctest::Approx(90));
  CHECK(charts[0].specification.getObject("title")->getString("text")->contains("table2"));
  CHECK(*(*encodingOf(charts[0], "y").getObject("scale")->getArray("domain"))[1].getAsNumber() > 90);
}

TEST_CASE("more columns than colours make a map of the grid") {
  Example example = exampleResults();
  Grid grid;
  grid.subject = "step_time";
  grid.unit = "s";
  grid.row_factors = {"size"};
  grid.column_factor = "batch";
  GridCell cell;
  cell.values = {1, 9};
  for (unsigned column = 0; column < 9; ++column) {
    grid.columns.push_back(std::to_string(column));
    grid.column_levels.push_back(column);
  }
  for (unsigned row = 0; row < 4; ++row) {
    grid.row_levels.push_back({row});
    grid.rows.push_back({std::to_string(row)});
    cell.estimate = row + 1;
    grid.cells.push_back(std::vector<GridCell>(9, cell));
  }
  const auto wide = drawn(example, grid);
  REQUIRE(wide.size() == 1);
  checkWhole(wide);
  const Object& layer = *(*wide[0].specification.getArray("layer"))[0].getAsObject();
  CHECK(layer.getString("mark") == "rect");
  CHECK(cellsOf(wide[0]).size() == 36);
  // Colours span the estimates alone: one run that took long does not make the rest look alike.
  const Object& scale = *layer.getObject("encoding")->getObject("color")->getObject("scale");
  CHECK(*(*scale.getArray("domain"))[1].getAsNumber() == 4);
  grid.rows.resize(2);
  grid.row_levels.resize(2);
  grid.cells.resize(2);
  CHECK(layerOf(drawn(example, grid)[0], "v"));
}

TEST_CASE("curves: a colour for each level, a chart for each further factor, a band that says what it is") {
  Example example = exampleResults();
  plan::Plan& plan = example.plan;
  plan.metrics.push_back({"loss", "", "", plan::Direction::Lower, plan::TrialKind::Quality, false, true});
  std::vector<describe::Curve> curves;
  for (const size_t point : {0, 1, 2, 3})
    curves.push_back({plan.points[point].id, "loss", {{1, 3, 2, 1.5, 2.5, {}}, {2, 3, 1, 0.5, 1.5, {}}}});
  const plan::Plot plot{"loss", "epoch", {"precision"}};
  CHECK(plot.kind(plan) == plan::PlotKind::Series);
  size_t left_out = 0;
  auto charts = curveCharts(plan, curves, plot, left_out);
  REQUIRE(charts.size() == 2);
  CHECK(charts[0].caption == "gpus=1");
  checkWhole(charts);
  const Object& first = charts[0].specification;
  CHECK(cellsOf(charts[0]).size() == 4);
  const Object* across = first.getObject("encoding")->getObject("x")->getObject("axis");
  CHECK(*across->getArray("values") == llvm::json::Array{1, 2});  // and none between them
  CHECK(first.getObject("title")->getString("text") == "line: median of 3 trials; band: lowest to highest trial");
  CHECK((*first.getArray("layer"))[0].getAsObject()->getObject("mark")->getString("type") == "area");

  for (describe::Curve& curve : curves)
    for (describe::CurvePlace& place : curve.places) place.interval = stats::Interval{0.4, 2.4, 0.95};
  charts = curveCharts(plan, curves, plot, left_out);
  CHECK(charts[0].specification.getObject("title")->getString("text")->contains("95 % interval"));

  for (describe::Curve& curve : curves)
    for (describe::CurvePlace& place : curve.places) place.n = 1, place.interval.reset();
  charts = curveCharts(plan, curves, plot, left_out);
  CHECK(charts[0].specification.getObject("title")->getString("text") == "line: one run");
  CHECK(charts[0].specification.getArray("layer")->size() == 1);
  CHECK(curveCharts(plan, {}, plot, left_out).empty());
}

TEST_CASE("curves of many points stay within a bound") {
  Example example = exampleResults();
  plan::Plan& plan = example.plan;
  plan.metrics.push_back({"loss", "", "", plan::Direction::Lower, plan::TrialKind::Quality, false, true});
  describe::Curve curve{plan.points[0].id, "loss", {}};
  for (unsigned place = 1; place <= 200; ++place) curve.places.push_back({place, 1, 1.0 / place, 0, 1, {}});
  const std::vector<describe::Curve> curves(1000, curve);
  size_t left_out = 0;
  const auto charts = curveCharts(plan, curves, {"loss", "epoch", {"precision"}}, left_out);
  REQUIRE(charts.size() == 1);
  CHECK(cellsOf(charts[0]).size() < 6000);
  CHECK(left_out == 960);
}

TEST_CASE("one metric over another: every point with both, and the front") {
  Example example = exampleResults();
  const plan::Plan& plan = example.plan;
  describe::Description& seen = example.judgement.description;
  seen.plotted = {
      {"step_time", "accuracy", {{plan.points[1].id, 0.0231, 0.958}, {plan.points[0].id, 0.0412, 0.961}}, 2}};
  const plan::Plot plot{"accuracy", "step_time", {"precision", "gpus"}};
  CHECK(plot.kind(plan) == plan::PlotKind::Metrics);
  size_t left_out = 0;
  const auto charts = scatterCharts(plan, example.judgement, plot, left_out);
  REQUIRE(charts.size() == 1);
  checkWhole(charts);
  CHECK(cellsOf(charts[0]).size() == 5);  // the sixth is not available
  CHECK(cellsWith(charts[0], "front").size() == 2);
  const Object& line = *(*charts[0].specification.getArray("layer"))[0].getAsObject();
  CHECK(line.getObject("mark")->getString("type") == "line");
  CHECK(cellsWith(charts[0], "xl").size() == 5);
  CHECK(cellsWith(charts[0], "yl").empty());  // one run has no interval
  CHECK_FALSE(layerOf(charts[0], "yl"));
  const Object& datum = *cellsOf(charts[0])[0].getAsObject();
  CHECK(*datum.getNumber("x") == doctest::Approx(41.2));
  CHECK(*datum.getNumber("y") == doctest::Approx(96.1));
  CHECK(*datum.getString("s") == "fp64");
  CHECK(*datum.getString("f") == "1");
  CHECK(*datum.getString("r") == "");
  describe::Conclusions none;
  CHECK(scatterCharts(plan, none, plot, left_out).empty());
}

TEST_CASE("a profile is a bar for each level, its phases the largest first and the rest last") {
  const Example example = withProfiles(exampleResults());
  const auto all = describe::attribute({example.plan, example.judgement, example.results});
  REQUIRE(!all.empty());
  const auto charts = profileCharts(example.plan, all);
  REQUIRE(charts.size() == 1);
  CHECK(charts[0].caption.starts_with("against precision=fp64"));
  checkWhole(charts);
  const Object& layer = *(*charts[0].specification.getArray("layer"))[0].getAsObject();
  const auto& domain = *layer.getObject("encoding")->getObject("color")->getObject("scale")->getArray("domain");
  REQUIRE(domain.size() == 4);
  CHECK(*domain[0].getAsString() == "backward");
  CHECK(*domain[3].getAsString() == "rest");
  double sum = 0;
  for (const auto& cell : cellsOf(charts[0]))
    if (cell.getAsObject()->getString("s") == "fp64") sum += *cell.getAsObject()->getNumber("v");
  CHECK(sum == doctest::Approx(100));  // milliseconds: the phases and the rest make the step
}
