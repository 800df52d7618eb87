#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/source/source.h"

namespace expc::parse {

constexpr size_t kMaxFileSize = 1 << 20;

/// Takes a file's text in: refuses what is larger than 1 MiB, is not UTF-8 or holds NUL bytes, with a diagnostic that
/// names the byte. Every text must pass here before parse().
std::optional<source::FileId> load(source::SourceManager& sources, std::string name, std::string text,
                                   diag::Emitter& emitter);

/// Parses a whole file that load() took in. Reports at most twenty errors; what is broken is left out of the module, so
/// a caller that finds `emitter.errors()` raised should not check it: what follows would mostly be consequences.
ast::Module parse(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter);

/// Parses a file that holds one expression or set, such as a condition of `--where`; null after an error.
ast::ExprPtr parseExpression(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter);

/// Where the bytes [begin, end) of the value of the text at `literal` stand in its source, whatever escapes it has.
source::Range writtenRange(const source::SourceManager& sources, source::Range literal, size_t begin, size_t end);

/// `precision = fp32`, `(loader, layout) = (dali, nhwc)` or `design.timed.repeat = 20`, as `-D` has it. More values
/// after commas are left out, and `several` is set.
struct Setting {
  ast::Assignment assignment;
  bool several = false;
};
/// Parses a file that holds one setting; nothing after an error.
std::optional<Setting> parseSetting(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter);

/// Parses a file that holds the levels of a point, with blanks or commas between; empty after an error.
std::vector<ast::Assignment> parsePoint(const source::SourceManager& sources, source::FileId file,
                                        diag::Emitter& emitter);

}  // namespace expc::parse
