#include "compiler/parse/parse.h"

#include "compiler/parse/antlr_bridge.h"
#include "compiler/parse/reporter.h"
#include "compiler/parse/transform.h"

namespace expc::parse {

ast::Module parse(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter) {
  Reporter reporter(sources, emitter, file);
  const Tree tree = parseTree(sources, file, Rule::File, reporter);
  return Transform(sources, tree, reporter).module();
}

ast::ExprPtr parseExpression(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter) {
  Reporter reporter(sources, emitter, file);
  const size_t before = emitter.errors();
  const Tree tree = parseTree(sources, file, Rule::ValueFile, reporter);
  ast::ExprPtr out = Transform(sources, tree, reporter).wholeValue();
  return emitter.errors() == before ? std::move(out) : nullptr;
}

std::optional<Setting> parseSetting(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter) {
  Reporter reporter(sources, emitter, file);
  const size_t before = emitter.errors();
  const Tree tree = parseTree(sources, file, Rule::SettingFile, reporter);
  Transform transform(sources, tree, reporter);
  std::vector<ast::Assignment> all = transform.wholeAssignments();
  if (all.empty() || emitter.errors() != before) return std::nullopt;
  return Setting{std::move(all.front()), transform.wholeValue() != nullptr};
}

std::vector<ast::Assignment> parsePoint(const source::SourceManager& sources, source::FileId file,
                                        diag::Emitter& emitter) {
  Reporter reporter(sources, emitter, file);
  const size_t before = emitter.errors();
  const Tree tree = parseTree(sources, file, Rule::PointFile, reporter);
  std::vector<ast::Assignment> all = Transform(sources, tree, reporter).wholeAssignments();
  if (emitter.errors() != before) all.clear();
  return all;
}

}  // namespace expc::parse
