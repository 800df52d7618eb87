#include "tests/fuzz/frontend.h"

#include "compiler/check/check.h"
#include "compiler/lower/lower.h"
#include "compiler/parse/parse.h"
#include "runtime/base/llvm.h"
#include "tests/fuzz/parse.h"
#include "tests/lowered.h"

namespace expc::fuzz {

namespace {

/// Grids up to here are expanded: larger ones cost time and show nothing new.
constexpr uint64_t kMaxProduct = 2000;

load::FileSystem noFiles() {
  return {[](const std::string& path) -> Expected<std::string> {
    return llvm::createStringError("there is no file %s here", path.c_str());
  }};
}

std::vector<std::string> overrides(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = text.find("//D "); at != std::string::npos && out.size() < 4; at = text.find("//D ", at + 1)) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at + 4, end - at - 4));
  }
  return out;
}

bool small(const check::Program& program) {
  for (const auto& study : program.studies) {
    uint64_t product = 1;
    for (const auto& factor : study->factors) {
      product *= std::max<uint64_t>(1, factor.levels.size());
      if (product > kMaxProduct) return false;
    }
  }
  return true;
}

}  // namespace

void compileText(const std::string& text) {
  parseText(text);
  source::SourceManager sources;
  diag::Collector collector;
  diag::Emitter emitter(collector);
  auto file = parse::load(sources, "fuzz.exp", text, emitter);
  if (!file) return;
  const check::Program program = check::check(sources, load::load(sources, *file, noFiles(), emitter), emitter);
  if (small(program)) {
    expand::Selection selection;
    selection.overrides = overrides(text);
    points::verify(program, selection, emitter);
    check::System system = check::System::unknown("fuzz");
    system.set("gpus", check::Value::number(2));
    if (emitter.errors() == 0) lower::compileAll(program, selection, &system, emitter);
    for (const auto& study : program.studies) {
      if (study->presets.empty()) continue;
      selection.study = study->name;
      selection.presets = {study->presets.front().name};
      points::verify(program, selection, emitter);
    }
  }
  render(sources, collector.diagnostics);
}

}  // namespace expc::fuzz
