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

namespace {

/// What `read` makes of a text of the command line, which `start` is the rule of; nothing after an error.
template <typename Read>
auto readWhole(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter, Rule start,
               Read read) {
  Reporter reporter(sources, emitter, file);
  const size_t before = emitter.errors();
  const Tree tree = parseTree(sources, file, start, reporter);
  Transform transform(sources, tree, reporter);
  auto out = read(transform);
  return emitter.errors() == before ? std::move(out) : decltype(out)();
}

}  // namespace

ast::ExprPtr parseExpression(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter) {
  return readWhole(sources, file, emitter, Rule::ValueFile, [](Transform& text) { return text.wholeValue(); });
}

std::optional<Setting> parseSetting(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter) {
  return readWhole(sources, file, emitter, Rule::SettingFile, [](Transform& text) -> std::optional<Setting> {
    std::vector<ast::Assignment> all = text.wholeAssignments();
    if (all.empty()) return std::nullopt;
    return Setting{std::move(all.front()), text.wholeValue() != nullptr};
  });
}

std::vector<ast::Assignment> parsePoint(const source::SourceManager& sources, source::FileId file,
                                        diag::Emitter& emitter) {
  return readWhole(sources, file, emitter, Rule::PointFile, [](Transform& text) { return text.wholeAssignments(); });
}

}  // namespace expc::parse
