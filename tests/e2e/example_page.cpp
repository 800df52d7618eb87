// Writes the report page of the example that the unit tests use: expc_example_page FILE [null]
// With `null` it is one that null cards measured.
#include <cstdio>
#include <string_view>

#include "runtime/report/html.h"
#include "tests/support/report/example_results.h"

namespace {

using namespace expc;

/// Adds what the other kinds of chart draw: a published value, curves with bands, and one metric over another.
report::Example withPlots(report::Example example) {
  plan::Plan& plan = example.plan;
  plan.references = {{"table2", "table2.csv", {{plan.points[0].id, "step_time", 0.05}}}};
  plan.metrics.push_back({"loss", "", "", plan::Direction::Lower, plan::TrialKind::Quality, false, true});
  plan.plots.push_back({"step_time", "gpus", {"precision"}});
  plan.plots.push_back({"accuracy", "gpus", {"precision"}});  // of single runs, so without an interval
  plan.plots.push_back({"loss", "epoch", {"precision"}});
  plan.plots.push_back({"accuracy", "step_time", {"precision", "gpus"}});
  describe::Description& seen = example.judgement.description;
  for (size_t point = 0; point < 5; ++point) {
    describe::Curve curve{plan.points[point].id, "loss", {}};
    for (unsigned epoch = 1; epoch <= 12; ++epoch) {
      const double loss = 2.3 / (epoch + double(point));
      curve.places.push_back({epoch, 3, loss, 0.9 * loss, 1.1 * loss, std::nullopt});
    }
    seen.curves.push_back(std::move(curve));
  }
  describe::Front front{"step_time", "accuracy", {}, 2};
  for (const size_t point : {3, 1, 0})
    front.points.push_back({plan.points[point].id, *example.judgement.find(plan.points[point].id, "step_time")->median,
                            *example.judgement.find(plan.points[point].id, "accuracy")->median});
  seen.plotted = {front};
  return example;
}

}  // namespace

int main(int argc, char** argv) {
  const bool null_cards = argc == 3 && std::string_view(argv[2]) == "null";
  if (argc != 2 && !null_cards) {
    std::fputs("usage: expc_example_page FILE [null]\n", stderr);
    return 2;
  }
  auto example = withPlots(report::withProfiles(report::exampleResults()));
  if (null_cards) example = expc::report::onNullCards(std::move(example));
  if (llvm::Error error = expc::report::writeHtml(argv[1], {example.plan, example.judgement, example.results}, {})) {
    std::fprintf(stderr, "%s\n", llvm::toString(std::move(error)).c_str());
    return 1;
  }
  return expc::report::hasChartLibrary() ? 0 : 3;
}
