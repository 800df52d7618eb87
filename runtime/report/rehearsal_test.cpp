// Checks how rehearsals are shown: in the terminal, in a plan, on the page and as JSON.

#include "runtime/rehearsal/rehearsal.h"

#include <doctest/doctest.h>

#include "runtime/base/json.h"
#include "runtime/report/document.h"
#include "runtime/report/html.h"
#include "runtime/report/paint.h"
#include "runtime/report/records_json.h"
#include "runtime/report/sections.h"
#include "runtime/report/texts.h"
#include "tests/support/rehearsal/example_rehearsal.h"
#include "tests/support/report/example_results.h"
#include "tests/support/text/has.h"

using namespace expc;
using namespace expc::report;
using rehearsal::Outcome;

namespace {

using expc::test::has;

/// The first points of the example: one runs, one fails, one does not fit, one is left out.
rehearsal::Study seenOf(const plan::Plan& plan) {
  rehearsal::Study study{plan.study, {}};
  study.put(rehearsal::exampleRun(plan.points[0].id));
  study.put(rehearsal::exampleEnd(plan.points[1].id, Outcome::Failed, "no <rows> \x1b[31mthere"));
  study.put(rehearsal::exampleEnd(plan.points[2].id, Outcome::DoesNotFit, "out of memory"));
  study.put(rehearsal::exampleEnd(plan.points[3].id, Outcome::NotRehearsed, "a command"));
  study.put(rehearsal::exampleRun("of another preset"));
  return study;
}

plan::Plan examplePlanWithEstimate() {
  plan::Plan plan = exampleResults().plan;
  plan.points[0].estimates = {{"device_memory_peak", 9.8e9}};
  return plan;
}

std::string rehearsalText(const plan::Plan& plan, const rehearsal::Study& study, const RehearsalOptions& options = {},
                          unsigned width = 100) {
  const Part part = rehearsalPart(plan, study, options);
  return part.blocks.empty() ? "" : documentText({part}, width, false);
}

}  // namespace

TEST_CASE("a rehearsal in the terminal: rows, reasons, and how far estimates are off") {
  const plan::Plan plan = examplePlanWithEstimate();
  RehearsalOptions options;
  options.logs = "results/rehearsals/logs";
  const std::string text = rehearsalText(plan, seenOf(plan), options);
  CAPTURE(text);
  for (const char* part :
       {"on 4 simulated GPUs of 87.5 GiB", "9.31 GiB", "10.2 GiB", "9.13 GiB (-2.0 %)", "2.79 GiB", "kernel launches",
        "1000", "3 (5.72 MiB)", "1 (8 B)", "65 (477 MiB)", "10.0 ms", "1 point failed: no <rows>",
        "1 point does not fit: out of memory", "1 point not rehearsed: a command",
        "1 runs, 1 failed, 1 does not fit, 1 not rehearsed",
        "memory estimates are within 2.0 % of the rehearsed peak (worst at ", "logs: results/rehearsals/logs"})
    CHECK_MESSAGE(has(text, part), part);
  CHECK(!has(text, "\x1b"));
  CHECK(!has(text, "another preset"));
  CHECK(rehearsalText(plan, {plan.study, {}}, options).empty());
}

TEST_CASE("of a long reason the first sentences are told") {
  const plan::Plan plan = examplePlanWithEstimate();
  const std::string first = "out of memory. Tried to allocate 2 GiB.", advice(300, 'x');
  rehearsal::Study study{plan.study, {}};
  study.put(rehearsal::exampleEnd(plan.points[0].id, Outcome::DoesNotFit, first + " " + advice));
  study.put(rehearsal::exampleEnd(plan.points[1].id, Outcome::Failed, advice));
  const std::string text = rehearsalText(plan, study);
  CHECK(has(text, "1 point does not fit: " + first + " …"));
  CHECK(has(text, "1 point failed:"));
  CHECK(has(text, advice));
}

TEST_CASE("lines keep to the width") {
  const plan::Plan plan = examplePlanWithEstimate();
  for (const unsigned width : {80u, 100u}) {
    const std::string text = rehearsalText(plan, seenOf(plan), {}, width);
    for (size_t at = 0, end; at < text.size(); at = end + 1) {
      end = text.find('\n', at);
      CHECK(displayWidth(text.substr(at, end - at)) <= width);
    }
  }
}

TEST_CASE("what was expected of a point stands beside what was seen") {
  plan::Plan plan = examplePlanWithEstimate();
  plan.points[0].expected_infeasible = plan.points[2].expected_infeasible = "too large";
  const std::string text = rehearsalText(plan, seenOf(plan));
  CHECK(has(text, "runs, although the estimate says it does not fit"));
  CHECK(has(text, "does not fit, as expected"));
}

TEST_CASE("a plan shows what was rehearsed of its points, and no steps") {
  const plan::Plan plan = examplePlanWithEstimate();
  const rehearsal::Study seen = seenOf(plan);
  PlanExtras extras;
  CHECK(!has(planText(plan, extras), "Rehearsed"));
  extras.rehearsed = &seen;
  const std::string text = planText(plan, extras);
  CHECK(has(text, "Rehearsed  4 of "));
  CHECK(has(text, "9.13 GiB (-2.0 %)"));
  CHECK(has(text, "1 point failed: no <rows>"));
  CHECK(!has(text, "kernel launches"));
}

TEST_CASE("the page has what is exact, escaped, and no times") {
  const Example example = exampleResults();
  const rehearsal::Study seen = seenOf(example.plan);
  HtmlOptions options;
  options.charts = false;
  CHECK(!has(htmlPage({example.plan, example.judgement, example.results}, options), "id=\"rehearsed\""));
  options.rehearsed = &seen;
  const std::string page = htmlPage({example.plan, example.judgement, example.results}, options);
  const size_t from = page.find("<section id=\"rehearsed\"");
  REQUIRE(from != std::string::npos);
  const std::string section = page.substr(from, page.find("</section>", from) - from);
  CAPTURE(section);
  for (const char* part :
       {"Not measured", "9.31 GiB", "65 (477 MiB)", "no &lt;rows&gt;", "does not fit", "class=\"scroll\""})
    CHECK_MESSAGE(has(section, part), part);
  CHECK(!has(section, "10.0 ms"));
  CHECK(!has(section, "2.79 GiB"));
  CHECK(!has(section, "<rows>"));
  CHECK(has(page, "<a href=\"#rehearsed\">Rehearsed</a>"));
}

TEST_CASE("programs get what is exact, apart from what was measured") {
  const Example example = exampleResults();
  const rehearsal::Study seen = seenOf(example.plan);
  const auto without = resultJson({example.plan, example.judgement, example.results});
  CHECK(!without.getAsObject()->get("rehearsed"));
  const auto with = resultJson({example.plan, example.judgement, example.results}, &seen);
  const llvm::json::Array* points = with.getAsObject()->getArray("rehearsed");
  REQUIRE(points);
  CHECK(points->size() == 4);
  const std::string text = base::canonicalJson((*points)[0]);
  CHECK(has(text, "\"launches\":2000"));
  for (const char* of_this_machine : {"host_seconds", "host_memory", "\"seconds\""}) CHECK(!has(text, of_this_machine));
  llvm::json::Object rest = *with.getAsObject();
  rest.erase("rehearsed");
  CHECK(base::canonicalJson(std::move(rest)) == base::canonicalJson(without));
}
