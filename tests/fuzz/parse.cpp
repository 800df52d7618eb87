#include "tests/fuzz/parse.h"

#include "compiler/diag/render.h"
#include "compiler/parse/antlr_bridge.h"
#include "compiler/parse/parse.h"
#include "tests/fuzz/hold.h"
#include "tests/grammar/dump.h"

namespace expc::fuzz {

namespace {

void checkTokens(const source::SourceManager& sources, source::FileId file) {
  uint32_t end = 0;
  for (const parse::LexedToken& token : parse::tokens(sources, file)) {
    hold(token.range.begin >= end, "tokens come in order");
    const std::string_view between = sources.text({file, end, token.range.begin});
    hold(between.find_first_not_of(" \t\r\n\xEF\xBB\xBF") == std::string_view::npos, "white space lies between tokens");
    end = token.range.end;
  }
  hold(end == sources.text(file).size(), "the last token ends the file");
}

}  // namespace

void render(const source::SourceManager& sources, std::vector<diag::Diagnostic>& diagnostics) {
  diag::sortByPlace(diagnostics);
  for (const diag::Diagnostic& diagnostic : diagnostics) {
    (void)diag::renderText(sources, diagnostic, true);
    (void)diag::renderJson(sources, diagnostic);
  }
}

void parseText(const std::string& text) {
  source::SourceManager sources;
  diag::Collector collector;
  diag::Emitter emitter(collector);
  if (auto file = parse::load(sources, "fuzz.exp", text, emitter)) {
    checkTokens(sources, *file);
    const std::string tree = ast::dump(parse::parse(sources, *file, emitter));
    if (collector.diagnostics.empty())
      hold(ast::dump(parse::parse(sources, *file, emitter)) == tree, "a second reading gives the same tree");
    diag::Emitter second(collector);
    if (ast::ExprPtr value = parse::parseExpression(sources, *file, second)) (void)ast::dump(*value);
    for (const diag::Diagnostic& diagnostic : collector.diagnostics)
      hold(diagnostic.range.begin <= diagnostic.range.end && diagnostic.range.end <= sources.text(*file).size(),
           "a diagnostic lies in the file");
  }
  render(sources, collector.diagnostics);
}

}  // namespace expc::fuzz
