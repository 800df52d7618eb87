// Runs the Python scripts of assets/. The script's text is passed with -c, its input through a pipe. It prints to
// standard error into a file in memory, which takes any amount while its input is still being written. Both are named
// to the child as /proc/self/fd/N, which it opens as its own.

#include "runtime/export/python.h"

#include <llvm/Support/Program.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "runtime/base/descriptor.h"
#include "runtime/base/embedded.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/process.h"
#include "runtime/report/assets.h"

#define EXPC_ASSET(name, file) EXPC_EMBEDDED(expc::exports::assets, name, EXPC_ASSETS file)

EXPC_ASSET(drawScript, "/draw_chart.py")
EXPC_ASSET(parquetScript, "/write_parquet.py")
EXPC_ASSET(parquetTextsScript, "/parquet_texts.py")

namespace expc::exports {
namespace {

/// The exit code by which a script says that its package is missing.
constexpr int kLacking = 3;

/// Returns the name under which a child opens a descriptor that it inherits.
std::string ofChild(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

constexpr int kPictureWidth = 640;  // pixels; on the page a chart is as wide as there is room

/// Returns the chart's specification with the style that the page would add.
std::string standalone(const report::Chart& chart) {
  json::Object config = *cantFail(parseJson(report::assets::chartConfig())).getAsObject();
  config["background"] = "white";
  config["font"] = "sans-serif";
  json::Object specification = chart.specification;
  specification["config"] = std::move(config);
  specification["width"] = kPictureWidth;
  return canonicalJson(json::Value(std::move(specification)));
}

}  // namespace

const std::error_code kLacksPackage(ENOPKG, std::generic_category());

Error runPython(std::string_view script, const std::vector<std::string>& arguments,
                function_ref<void(llvm::raw_ostream& in)> feed, const Package& package, const std::string& about,
                unsigned seconds) {
  const auto refused = [&](std::string_view why) { return failure("{}: {}", about, why); };
  const auto lacking = [&] {
    return llvm::createStringError(
        kLacksPackage,
        fmt::format("{}: it needs {} (tools/setup, or `pip install 'expc[{}]'` where pip installed expc); {}", about,
                    package.name, package.extra, package.without));
  };
  // Two places may have the packages: the environment that tools/setup made beside a build, and the pip that installed
  // expc.
  const std::string set_up = (base::programFolder() / EXPC_SETUP_PYTHON).string();
  const std::string pips = (base::programFolder() / "../../../../../bin").string();  // from site-packages/expc/bin
  const auto python = llvm::sys::findProgramByName("python", {set_up, pips});
  if (!python) return lacking();
  base::Pipe in;
  const Descriptor said(memfd_create("said", MFD_CLOEXEC));
  if (in.read < 0 || said < 0) return refused(std::strerror(errno));
  std::vector<StringRef> words{*python, "-c", script};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::string from = ofChild(in.read), to = ofChild(said);
  std::string problem;
  bool failed = false;
  const llvm::sys::ProcessInfo child = llvm::sys::ExecuteNoWait(
      *python, words, std::nullopt, {StringRef(from), StringRef(), StringRef(to)}, 0, &problem, &failed);
  if (failed) return refused(problem);
  in.read.close();
  {
    llvm::raw_fd_ostream out(in.write, /*shouldClose=*/false);
    feed(out);
    out.flush();
    // A script that ends before it has read everything breaks the pipe; what it printed says why.
    out.clear_error();
  }
  in.write.close();
  const int code = llvm::sys::Wait(child, seconds, &problem).ReturnCode;
  std::string text;
  char part[4096];
  for (ssize_t got; (got = ::read(said, part, sizeof part)) > 0;) text.append(part, size_t(got));
  if (code == 0) return Error::success();
  if (code == kLacking) return lacking();
  std::string last = StringRef(text).rtrim().str();
  // The last line of a traceback is the error.
  last.erase(0, last.rfind('\n') + 1);
  return refused(problem.empty() ? last : last.empty() ? problem : problem + ": " + last);
}

Error drawChart(const report::Chart& chart, const std::string& format, const std::string& path) {
  constexpr Package kDrawing{"vl-convert", "charts", "without it the report page saves its charts as SVG and PNG"};
  const auto feed = [&](llvm::raw_ostream& in) { in << standalone(chart); };
  return files::writeBy(path, [&](const std::string& temporary) {
    return runPython(assets::drawScript(), {format, temporary}, feed, kDrawing,
                     fmt::format("the chart {} cannot be drawn", path));
  });
}

}  // namespace expc::exports
