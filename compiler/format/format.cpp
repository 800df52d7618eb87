#include "compiler/format/format.h"

#include "compiler/format/layout.h"
#include "compiler/format/lines.h"
#include "compiler/format/pieces.h"
#include "compiler/parse/antlr_bridge.h"
#include "compiler/parse/reporter.h"

namespace expc::format {

std::optional<std::string> format(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter) {
  const size_t before = emitter.errors();
  parse::Reporter reporter(sources, emitter, file);
  const parse::Tree tree = parse::parseTree(sources, file, parse::Rule::File, reporter);
  if (emitter.errors() != before) return std::nullopt;
  std::vector<Line> lines = layOut(takeApart(sources, tree));
  alignColumns(lines);
  return print(lines);
}

}  // namespace expc::format
