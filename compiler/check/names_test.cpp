#include "compiler/check/names.h"

#include <doctest/doctest.h>

#include <string>
#include <system_error>

#include "compiler/check/check.h"

using namespace expc;

namespace {

const char* const kShared = R"(
enum layout { nchw, nhwc }
enum tool { plain, fast(path), counted(count : int) }
let patience = 2h
workload job {
  param loader : tool = plain
  param layout : layout = nchw
  param gpus   : int in 1..8 = 1
  param rank   : int = 8  when layout == nhwc
  metric wall  : Time lower
  metric loss  : float series lower
  metric memory : Bytes lower exact
  estimate memory = 2B * gpus
  require small: gpus <= 4 or layout in { nchw }
}
)";

/// A file that imports kShared as `shared`, and the index of its names.
struct Names {
  explicit Names(const std::string& written) : text("import \"shared.exp\"\n" + written) {
    const load::FileSystem files{[](const std::string& path) -> llvm::Expected<std::string> {
      if (path == "dir/shared.exp") return kShared;
      return llvm::errorCodeToError(std::make_error_code(std::errc::no_such_file_or_directory));
    }};
    diag::Collector collector;
    diag::Emitter emitter(collector);
    root = sources.add("dir/a.exp", text);
    program = check::check(sources, load::load(sources, root, files, emitter), emitter);
  }

  /// The meaning of the name at the beginning of `part`: "parameter gpus", with its file if that is another
  /// one.
  std::string at(const std::string& part) const {
    const size_t offset = text.find(part);
    REQUIRE(offset != std::string::npos);
    const check::Occurrence* use = program.names.at(root, uint32_t(offset));
    if (!use) return "nothing";
    const check::Symbol& symbol = program.names.symbols()[use->symbol];
    const bool here = symbol.range.file == root;
    return std::string(check::toString(symbol.kind)) + " " + symbol.name + (here ? "" : " elsewhere");
  }

  std::string text;
  source::SourceManager sources;
  source::FileId root;
  check::Program program;
};

}  // namespace

TEST_CASE("every place of a name has its meaning") {
  const Names names(R"(
let extra = 1 + shared.patience / 1s
enum mode { eager, lazy }
reference seen from "t.csv" { gpus = column(GPUs)  wall = column(s) * 1s }
study s {
  workload ours   = shared.job(loader = fast("x"), rank = 4)
  workload theirs = other(mode = lazy)
  factor (loader, layout) in { (plain, nchw), (counted(3), nhwc) }  baseline (plain, nchw)
  factor gpus in 1..4 by *2  baseline 1  when layout == nhwc
  let twice = gpus * 2
  require r: twice <= system.gpus and (loader, layout) in { (plain, nhwc) }
  metric share = memory / wall
  measure share, loss
  compare gain = speedup(wall) over (loader, layout) against (plain, nchw)
  compare grow = ratio(gain) over gpus
  compare both = ratio(wall) over workload against theirs
  control again = [gpus = 2, (loader, layout) = (plain, nchw)]
  criterion c: forall gpus where gpus > 1: gain[(loader, layout) = (counted(3), nhwc)] >= 1x
  criterion d: exists (loader, layout): wall like seen within 5%
  criterion e: forall *: both[workload = ours] >= 1x
  design { timed { repeat 5..9 until half_width(grow) <= 1% } }
  table gain by gpus
  plot share over gpus by (loader, layout)
  preset quick { rank = 2  only gpus in { 1 }  remove criterion c  design.seed = 3 }
}
workload other { param mode : mode = eager  metric wall : Time lower }
)");
  const std::pair<const char*, const char*> wanted[] = {
      {"shared.exp\"", "module dir/shared.exp elsewhere"},
      {"patience /", "let patience elsewhere"},
      {"gpus = column(GPUs)", "parameter gpus elsewhere"},
      {"wall = column(s)", "metric wall elsewhere"},
      {"job(loader", "workload job elsewhere"},
      {"loader = fast", "parameter loader elsewhere"},
      {"fast(\"x\")", "level fast elsewhere"},
      {"rank = 4", "parameter rank elsewhere"},
      {"other(mode", "workload other"},
      {"lazy)", "level lazy"},
      {"layout) in { (plain, nchw), (", "parameter layout elsewhere"},
      {"nchw), (counted", "level nchw elsewhere"},
      {"counted(3), nhwc) }", "level counted elsewhere"},
      {"gpus in 1..4", "factor gpus"},
      {"layout == nhwc\n  let", "parameter layout elsewhere"},
      {"nhwc\n  let", "level nhwc elsewhere"},
      {"gpus * 2", "factor gpus"},
      {"twice <=", "let twice"},
      {"nhwc) }\n  metric", "level nhwc elsewhere"},
      {"memory / wall", "metric memory elsewhere"},
      {"share, loss", "metric share"},
      {"loss\n", "metric loss elsewhere"},
      {"wall) over (", "metric wall elsewhere"},
      {"(loader, layout) against", "factor (loader, layout)"},
      {"nchw)\n  compare grow", "level nchw elsewhere"},
      {"gain) over", "comparison gain"},
      {"theirs\n  control", "workload theirs"},
      {"gpus = 2", "factor gpus"},
      {"gpus where", "factor gpus"},
      {"gain[", "comparison gain"},
      {"nhwc)] >=", "level nhwc elsewhere"},
      {"seen within", "reference seen"},
      {"both[", "comparison both"},
      {"ours] >=", "workload ours"},
      {"grow) <=", "comparison grow"},
      {"gain by", "comparison gain"},
      {"(loader, layout)\n  preset", "factor (loader, layout)"},
      {"rank = 2", "parameter rank elsewhere"},
      {"gpus in { 1 }", "factor gpus"},
      {"c  design.seed", "criterion c"},
      {"mode = eager", "enum mode"},
      {"eager  metric", "level eager"},
  };
  for (const auto& [part, meaning] : wanted) {
    CHECK(std::string(part) + ": " + names.at(part) == std::string(part) + ": " + meaning);
  }
}

TEST_CASE("a bare word in a place of enum type is a level and nothing else") {
  const Names names("study s { workload shared.job()\n let nchw = 1\n require layout == nchw and gpus == nchw }\n");
  CHECK(names.at("nchw and") == "level nchw elsewhere");
  CHECK(names.at("nchw }") == "let nchw");
}

TEST_CASE("what is broken takes nothing else with it") {
  const Names names(
      "study s { workload shared.job(\n factor gpus in 1..2\n measure wall\n compare = over\n table wall by gpus }\n");
  CHECK(names.at("gpus }") == "factor gpus");
  const Names more("import \"nowhere.exp\" import std.nothing study s { workload nowhere.x() measure wall }\n");
  CHECK(more.at("wall") == "nothing");
  CHECK(more.at("s {") == "study s");
}

TEST_CASE("names in a workload") {
  const Names names(
      "enum kind { a, b }\nworkload w {\n param k : kind = b\n param n : int = 1 when k == a\n metric m : Time lower\n"
      " metric twice = m * 2 lower\n estimate m = 1s * n when k in { b }\n require keeps: k != b or n < 3\n"
      " let most = n * 4\n exclude most > 8\n}\nlet free = most\n");
  CHECK(names.at("kind = b") == "enum kind");
  CHECK(names.at("k == a") == "parameter k");
  CHECK(names.at("a\n metric") == "level a");
  CHECK(names.at("m * 2") == "metric m");
  CHECK(names.at("m = 1s") == "metric m");
  CHECK(names.at("n when k in") == "parameter n");
  CHECK(names.at("b }\n require") == "level b");
  CHECK(names.at("n < 3") == "parameter n");
  CHECK(names.at("n * 4") == "parameter n");
  CHECK(names.at("most > 8") == "let most");
  CHECK(names.at("most\n") == "nothing");
}
