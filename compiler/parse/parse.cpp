#include "compiler/parse/parse.h"

#include <llvm/Support/ConvertUTF.h>

#include <algorithm>

#include "compiler/parse/antlr_bridge.h"
#include "compiler/parse/transform.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(FileTooLarge, Error, "this file is larger than {0} bytes, the most that is read");
EXPC_DIAGNOSTIC(InvalidUtf8, Error, "byte {0} (0x{1:02X}) is not UTF-8; save the file as UTF-8");
EXPC_DIAGNOSTIC(NulByte, Error, "byte {0} is zero: this is not a text file");

std::optional<source::FileId> load(source::SourceManager& sources, std::string name, std::string text,
                                   diag::Emitter& emitter) {
  if (text.size() > kMaxFileSize) {
    source::FileId file = sources.add(std::move(name), "");
    return emitter.refuse({file, 0, 0}, FileTooLarge, kMaxFileSize);
  }
  source::FileId file = sources.add(std::move(name), std::move(text));
  std::string_view all = sources.text(file);
  const auto* begin = reinterpret_cast<const llvm::UTF8*>(all.data());
  const auto* legal = begin;
  llvm::isLegalUTF8String(&legal, begin + all.size());
  const size_t at = std::min(all.find('\0'), static_cast<size_t>(legal - begin));
  if (at == all.size()) return file;
  const source::Range here{file, static_cast<uint32_t>(at), static_cast<uint32_t>(at + 1)};
  if (all[at] == '\0')
    emitter.emit(here, NulByte, at);
  else
    emitter.emit(here, InvalidUtf8, at, static_cast<unsigned char>(all[at]));
  return std::nullopt;
}

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

source::Range writtenRange(const source::SourceManager& sources, source::Range literal, size_t begin, size_t end) {
  const std::string_view written = sources.text(literal);
  const auto placeOf = [&](size_t offset) {
    std::string read;
    size_t at = 1;
    while (read.size() < offset && at < written.size()) {
      const size_t length = written[at] == '\\' ? TreeReader::readEscape(written.substr(at), read) : 0;
      if (length == 0) read += written[at];
      at += std::max<size_t>(length, 1);
    }
    return literal.begin + static_cast<uint32_t>(at);
  };
  return {literal.file, placeOf(begin), placeOf(end)};
}

}  // namespace expc::parse
