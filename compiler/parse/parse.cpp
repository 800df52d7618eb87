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

}  // namespace expc::parse
