#include "runtime/report/html.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "runtime/base/files/marks.h"
#include "runtime/base/format.h"
#include "tests/support/folder.h"
#include "tests/support/report/example_results.h"

using namespace expc;
using namespace expc::report;

namespace {

std::string page(const Example& example, bool charts = true) {
  HtmlOptions options;
  options.written = 1763700000;
  options.charts = charts;
  return htmlPage({example.plan, example.judgement, example.results}, options);
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("no page is an input of the commands that are measured") { CHECK(files::isOurs(page(exampleResults()))); }

TEST_CASE("a table and a plot of one metric share one chart") {
  Example example = exampleResults();
  const auto charts = [&] { return namedCharts({example.plan, example.judgement, example.results}).size(); };
  example.plan.tables = {{"step_time", {"gpus", "precision"}}};
  example.plan.plots.clear();
  const size_t one = charts();
  CHECK(one > 0);
  plan::Plot plot;
  plot.subject = "step_time";
  plot.over = "gpus";
  plot.by = {"precision"};
  example.plan.plots = {plot};
  CHECK(charts() == one);
}

TEST_CASE("the page holds every part, verdicts first") {
  const std::string text = page(exampleResults());
  size_t last = 0;
  for (const char* part : {"<h1>precision</h1>",
                           "<h2>Verdicts</h2>",
                           "PASS</span>",
                           "fp32_pays",
                           "<dt>where</dt><dd><code><span class=\"argument\">gain</span>",
                           "FAIL</span>",
                           "NOT ASKED</span>",
                           "<h2>Results</h2>",
                           "step_time by gpus, precision",
                           "41.2 ms",
                           "id=\"chart-1\"",
                           "gain over gpus by precision",
                           "id=\"chart-2\"",
                           "<h2>Comparisons</h2>",
                           "<h2>All measurements</h2>",
                           "<h2>Points left out</h2>",
                           "half precision is not in this preset",
                           "<h2>Design</h2>",
                           "18446744073709551557",
                           "<h2>Trials</h2>",
                           "Segmentation fault",
                           "<h2>Environment</h2>",
                           "Example CPU @ 2.4 GHz",
                           "Worker details",
                           "1 (1 trial); 2 (1 trial)",
                           "<h2>How to repeat it</h2>",
                           "expc compare experiments/precision.exp --study precision --preset quick -D gpus=1,2"}) {
    CAPTURE(part);
    const size_t at = text.find(part, last);
    CHECK(at != std::string::npos);
    if (at != std::string::npos) last = at;
  }
}

TEST_CASE("a comparison that a preset left without cells has a sentence instead of a table") {
  Example example = exampleResults();
  example.plan.comparisons[0].cells.clear();
  example.judgement.comparisons[0].cells.clear();
  CHECK(count(page(example), "<p class=\"quiet\">this selection has no pair of points to compare</p>") == 1);
}

TEST_CASE("nothing that a study or a worker says becomes markup") {
  Example example = exampleResults();
  const std::string evil = "\"'><img src=x onerror=alert(1)></script><script>alert(1)</script>";
  example.plan.study = example.plan.doc = example.plan.source = evil;
  for (plan::Factor& factor : example.plan.factors) {
    factor.name += evil;
    for (plan::Level& level : factor.levels) level.label += evil;
  }
  for (plan::Comparison& comparison : example.plan.comparisons) comparison.text = comparison.without_partner_why = evil;
  for (plan::Criterion& criterion : example.plan.criteria)
    criterion.text = criterion.doc = criterion.domain = criterion.where = evil;
  for (judge::CriterionResult& result : example.judgement.criteria) result.why = exampleWhy(evil);
  example.plan.points[5].unavailable = evil;
  example.plan.removed[0] = {evil, evil, evil, 3, {{evil}, {}, {evil, evil, evil}}};
  example.results.sessions[0].where.nodes = {evil};
  example.results.sessions[0].environment_json = "not json " + evil;
  example.results.trials[1].reason = example.results.trials[1].log_tail = evil;
  example.results.trials[1].notes = {evil};
  example.results.not_counted_reasons = {evil};
  const std::string text = page(example, false);
  CHECK(text.find("<img") == std::string::npos);
  CHECK(text.find("<script>alert") == std::string::npos);
  // Two script elements, the data and the page's script, each opened and closed once.
  CHECK(count(text, "<script") == 2);
  CHECK(count(text, "</script") == 2);
}

TEST_CASE("each value knows its column, for screens on which a row is a card") {
  const std::string text = page(exampleResults());
  CHECK(count(text, "<td class=\"word pass\" data-label=\"verdict\">PASS") > 0);
  CHECK(count(text, "data-label=\"interval\">[1.52x, 1.57x]</td>") > 0);
  CHECK(count(text, "data-label=\"bound\">&gt;= 1.2x</td>") == 2);
  CHECK(count(text, "<th scope=\"row\" data-label=\"gpus\">") > 0);
  CHECK(count(text, "<th scope=\"col\"></th>") == 0);
  // On a narrow screen each cell names the factor that heads several columns.
  CHECK(count(text, "data-label=\"precision=fp32\"") > 0);
}

TEST_CASE("the page asks nothing of a network") {
  std::string text = page(exampleResults(), false);
  // The schema's name in a saved chart is an identifier; no browser loads it.
  const std::string schema = "https://vega.github.io/schema/";
  text.erase(text.find(schema), schema.size());
  for (const char* word : {" src=", "@import", "url(", "<link", "http://", "https://"}) {
    CAPTURE(word);
    CHECK(text.find(word) == std::string::npos);
  }
  CHECK(text.find("default-src 'none'") != std::string::npos);
}

TEST_CASE("without its chart library the page says so") {
  CHECK(page(exampleResults(), false).find("The charts are not drawn") != std::string::npos);
  if (hasChartLibrary()) CHECK(page(exampleResults()).find("The charts are not drawn") == std::string::npos);
}

TEST_CASE("an empty result makes a page too") {
  Example example = exampleResults();
  example.judgement = {};
  example.results = {};
  CHECK(page(example).find("nothing ran") != std::string::npos);
  example.plan = plan::Plan{};
  example.plan.study = "empty";
  CHECK(page(example).find("has no criterion") != std::string::npos);
}

TEST_CASE("a study without table or plot still has a chart") {
  Example example = exampleResults();
  example.plan.tables.clear();
  example.plan.plots.clear();
  CHECK(page(example).find("id=\"chart-1\"") != std::string::npos);
}

TEST_CASE("writing is whole or not at all") {
  const expc::test::TestFolder folder;
  const std::string& place = folder.path;
  const std::string path = place + "/deep/er/page.html";
  const Example example = exampleResults();
  HtmlOptions options;
  options.written = 1763700000;
  CHECK_FALSE(bool(writeHtml(path, {example.plan, example.judgement, example.results}, options)));
  CHECK(contents(path) == htmlPage({example.plan, example.judgement, example.results}, options));
  CHECK(std::distance(std::filesystem::directory_iterator(place + "/deep/er"), {}) == 1);

  // A folder in the place of the page gives an error that names it, and leaves no temporary file.
  std::filesystem::create_directories(place + "/taken.html/x");
  const std::string message =
      llvm::toString(writeHtml(place + "/taken.html", {example.plan, example.judgement, example.results}, options));
  CHECK(message.find(place + "/taken.html: Is a directory; ") != std::string::npos);
  CHECK(std::distance(std::filesystem::directory_iterator(place), {}) == 2);
}

TEST_CASE("a full disk is named, with the way out") {
  // A device is written to directly and not replaced by a renamed file.
  const expc::test::TestFolder folder;
  const std::string& place = folder.path;
  const std::string path = place + "/page.html";
  REQUIRE(::symlink("/dev/full", path.c_str()) == 0);
  const Example example = exampleResults();
  const std::string message = llvm::toString(writeHtml(path, {example.plan, example.judgement, example.results}, {}));
  CHECK(message.find("page.html: No space left on device; free some space, or write it elsewhere with --html") !=
        std::string::npos);
  CHECK(std::filesystem::is_symlink(path));
  CHECK(std::distance(std::filesystem::directory_iterator(place), {}) == 1);
}

TEST_CASE("a page from null cards says so over everything, and another does not") {
  const std::string text = page(onNullCards(exampleResults()));
  const size_t banner = text.find("<div class=\"null-cards\" role=\"alert\">");
  REQUIRE(banner != std::string::npos);
  CHECK(banner < text.find("<h1>"));
  CHECK(text.find("<b>Simulated GPUs:</b> all numbers here come from simulated GPUs, which compute nothing; no") !=
        std::string::npos);
  CHECK(text.find("<title>Simulated GPUs: precision") != std::string::npos);
  CHECK(text.find("Session 1 on node07, simulated GPUs") != std::string::npos);
  CHECK(text.find("PASS</span>") == std::string::npos);
  CHECK(text.find("FAIL</span>") == std::string::npos);
  CHECK(page(exampleResults()).find("<div class=\"null-cards\"") == std::string::npos);
}

TEST_CASE("the page says where the time went, for levels with profiles") {
  CHECK(page(exampleResults()).find("Where the time went") == std::string::npos);
  const std::string text = page(withProfiles(exampleResults()));
  for (const char* part :
       {"<h2>Where the time went</h2>", "precision=fp32 against fp64, gpus=1",
        "60.0 ms per step instead of 100 ms (-40.0 ms); means of 1 profile trial each", "phases of the step",
        "-30.0 ms", "75 %", "all_reduce, beside these", "operators, own time", "&lt;b&gt;evil&lt;/b&gt;", "52×"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(text.find("href=\"#profile\"") != std::string::npos);
  CHECK(text.find("<b>evil") == std::string::npos);
}

TEST_CASE("each selection of a study has a page of its own name") {
  plan::Plan plan = exampleResults().plan;
  plan.presets = {};
  plan.overrides = {};
  CHECK(pageName(plan) == "precision.html");
  plan.presets = {"quick"};
  CHECK(pageName(plan) == "precision.quick.html");
  plan.overrides = {"gpus=1,2", "size=64px"};
  CHECK(pageName(plan) == "precision.quick.gpus=1,2.size=64px.html");
  // Characters that a shell or file system may not accept are left out; a digest keeps such names apart.
  plan.overrides = {"data=mnist(\"a/../b\")"};
  const std::string one = pageName(plan);
  CHECK(one.starts_with("precision.quick.data=mnista..b-"));
  CHECK(one.find('/') == std::string::npos);
  plan.overrides = {"data=mnist(\"a/..b\")"};
  CHECK(pageName(plan) != one);
  plan.overrides = {std::string(500, 'x')};
  CHECK(pageName(plan).size() < 100);
  plan.overrides = {};
  plan.presets = {"../../etc/passwd"};
  CHECK(pageName(plan).find('/') == std::string::npos);
}

TEST_CASE("the charts of a page have names and its order") {
  const Example example = withProfiles(exampleResults());
  const auto charts = namedCharts({example.plan, example.judgement, example.results});
  REQUIRE(charts.size() == count(page(example), "class=\"chart\""));
  for (size_t i = 0; i < charts.size(); ++i)
    CHECK(page(example).find(fmt::format("id=\"chart-{}\" role=\"img\" aria-label=\"Chart of {}", i + 1,
                                         charts[i].name)) != std::string::npos);
  CHECK(charts.back().name.starts_with("phases of a step"));
}

TEST_CASE("a plot over a factor has it for x, also where another one varies that it does not name") {
  Example example = exampleResults();
  example.plan.tables.clear();
  example.plan.plots = {{"step_time", "gpus", {}}};
  const auto charts = namedCharts({example.plan, example.judgement, example.results});
  REQUIRE(charts.size() == 1);
  const auto& columns = *charts[0].specification.getObject("usermeta")->getArray("columns");
  CHECK(columns[0].getAsObject()->getString("title") == "gpus");
  CHECK(columns[1].getAsObject()->getString("title") == "precision");
}
