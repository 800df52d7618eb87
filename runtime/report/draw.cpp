#include "runtime/report/draw.h"

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FileUtilities.h>
#include <llvm/Support/Program.h>

#include <string>
#include <system_error>

#include "runtime/base/process.h"
#include "runtime/files/files.h"
#include "runtime/plan/json.h"
#include "runtime/report/assets.h"

namespace expc::report {
namespace {

constexpr int kWidth = 640;    // pixels; on the page a chart is as wide as there is room
constexpr int kNoLibrary = 3;  // draw_chart.py
constexpr unsigned kSeconds = 120;

llvm::Error failed(const std::string& path, const std::string& why) {
  return llvm::createStringError(std::errc::io_error, "the chart %s cannot be drawn: %s", path.c_str(), why.c_str());
}

/// A temporary file that goes when this does.
struct Scratch {
  llvm::SmallString<128> path;
  llvm::FileRemover remover;
  std::error_code make(llvm::StringRef suffix) {
    const std::error_code error = llvm::sys::fs::createTemporaryFile("expc-chart", suffix, path);
    if (!error) remover.setFile(path);
    return error;
  }
};

std::string standalone(const NamedChart& chart) {
  llvm::json::Object config = *llvm::cantFail(plan::parseJson(assets::chartConfig())).getAsObject();
  config["background"] = "white";
  config["font"] = "sans-serif";
  llvm::json::Object specification = chart.specification;
  specification["config"] = std::move(config);
  specification["width"] = kWidth;
  return plan::canonicalJson(llvm::json::Value(std::move(specification)));
}

}  // namespace

llvm::Error drawChart(const NamedChart& chart, const std::string& format, const std::string& path) {
  constexpr const char* kMissing =
      "it needs vl-convert (tools/setup, or `pip install 'expc[charts]'` where pip installed expc); without it the "
      "report page saves its charts as SVG and PNG";
  const std::string set_up = (base::programFolder() / EXPC_CHART_PYTHON).string();
  const std::string pips = (base::programFolder() / "../../../../../bin").string();  // from site-packages/expc/bin
  const auto python = llvm::sys::findProgramByName("python", {set_up, pips});
  if (!python) return failed(path, kMissing);
  Scratch specification, said;
  if (std::error_code error = specification.make("json")) return failed(path, error.message());
  if (std::error_code error = said.make("txt")) return failed(path, error.message());
  const std::string script(assets::drawScript());
  const std::string in = specification.path.str().str(), out = said.path.str().str();
  if (auto error = files::write(in, standalone(chart))) return failed(path, llvm::toString(std::move(error)));
  return files::writeBy(path, [&](const std::string& temporary) -> llvm::Error {
    std::string problem;
    const int code = llvm::sys::ExecuteAndWait(*python, {*python, "-c", script, format, temporary}, std::nullopt,
                                               {llvm::StringRef(in), llvm::StringRef(), llvm::StringRef(out)}, kSeconds,
                                               0, &problem);
    if (code == kNoLibrary) return failed(path, kMissing);
    return code == 0
               ? llvm::Error::success()
               : failed(path, !problem.empty() ? problem
                                               : llvm::StringRef(files::tail(out, files::kMostByHand)).rtrim().str());
  });
}

}  // namespace expc::report
