#pragma once

#include "compiler/ast/ast.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/source/source.h"

namespace expc::parse {

/// Parses a whole file that load() took in. Reports at most twenty errors; what is broken is left out of the module, so
/// a caller that finds `emitter.errors()` raised should not check it: what follows would mostly be consequences.
ast::Module parse(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter);

/// Parses a file that holds one expression or set, such as the value of `-D gpus=2`; null after an error.
ast::ExprPtr parseExpression(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter);

/// Where the bytes [begin, end) of the value of the text at `literal` stand in its source, whatever escapes it has.
source::Range writtenRange(const source::SourceManager& sources, source::Range literal, size_t begin, size_t end);

}  // namespace expc::parse
