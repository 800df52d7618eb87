#include <string>
#include <utility>

#include "runtime/files/files.h"
#include "runtime/plan/json.h"
#include "runtime/report/assets.h"
#include "runtime/report/html.h"
#include "runtime/report/python.h"

namespace expc::report {
namespace {

constexpr int kPictureWidth = 640;  // pixels; on the page a chart is as wide as there is room

std::string standalone(const NamedChart& chart) {
  llvm::json::Object config = *llvm::cantFail(plan::parseJson(assets::chartConfig())).getAsObject();
  config["background"] = "white";
  config["font"] = "sans-serif";
  llvm::json::Object specification = chart.specification;
  specification["config"] = std::move(config);
  specification["width"] = kPictureWidth;
  return plan::canonicalJson(llvm::json::Value(std::move(specification)));
}

}  // namespace

llvm::Error drawChart(const NamedChart& chart, const std::string& format, const std::string& path) {
  constexpr Package kDrawing{"vl-convert", "charts", "without it the report page saves its charts as SVG and PNG"};
  const auto feed = [&](llvm::raw_ostream& in) { in << standalone(chart); };
  return files::writeBy(path, [&](const std::string& temporary) {
    return runPython(assets::drawScript(), {format, temporary}, feed, kDrawing,
                     "the chart " + path + " cannot be drawn");
  });
}

}  // namespace expc::report
