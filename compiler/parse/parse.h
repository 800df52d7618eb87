#pragma once

// From bytes to the abstract syntax tree (ast.h): the face of this room to the rest of the compiler. load()
// takes a text in, the parse functions read it. They look at syntax alone: names, types and values are left to
// compiler/check.
//
// Syntax errors go to the emitter as diagnostics, never as exceptions. A broken statement is left out of the tree, so
// one mistake costs one statement and not the file.

#include <optional>
#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/diag/source.h"
#include "compiler/parse/ast.h"

namespace expc::parse {

/// The largest file that is read, in bytes. Studies are written by hand; anything larger is a mistaken path, and
/// offsets must fit into 32 bits.
constexpr size_t kMaxFileSize = 1 << 20;

/// Adds a text to `sources` under `name`. Refuses a text that is larger than kMaxFileSize, is not UTF-8 or holds NUL
/// bytes, with a diagnostic that names the byte, and then returns nothing. Every text must pass here before it is
/// parsed.
std::optional<source::FileId> load(source::SourceManager& sources, std::string name, std::string text,
                                   diag::Emitter& emitter);

/// Parses a whole file that load() took in. Reports at most twenty errors. Broken statements are missing from the
/// module, so a caller that sees `emitter.errors()` raised should not check it: most further messages would be
/// consequences.
ast::Module parse(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter);

/// Parses a file that holds one expression or set, such as a condition of `--where`; null after an error.
ast::ExprPtr parseExpression(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter);

/// Maps bytes [begin, end) of a text's value back to the source. `literal` is the range of the text with its quotes.
/// Escapes make the two differ in length; messages about a part of a text (a `${…}` in an argument) need the written
/// place.
source::Range writtenRange(const source::SourceManager& sources, source::Range literal, size_t begin, size_t end);

/// A setting as `-D` gives it: `precision = fp32`, `(loader, layout) = (dali, nhwc)` or `design.timed.repeat = 20`.
/// `several` is set if more values follow after commas; these are not read, and the caller reports them.
struct Setting {
  ast::Assignment assignment;
  bool several = false;
};
/// Parses a file that holds one setting; returns nothing after an error.
std::optional<Setting> parseSetting(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter);

/// Parses a file that holds the levels of a point, separated by blanks or commas; returns an empty list after an error.
std::vector<ast::Assignment> parsePoint(const source::SourceManager& sources, source::FileId file,
                                        diag::Emitter& emitter);

}  // namespace expc::parse
