#pragma once

#include <string>

#include "compiler/parse/syntax_errors.h"

namespace expc::parse {

/// What a common slip, or a habit of another language, was meant to be: "; a range is written 1..4". "" for none.
std::string hint(const source::SourceManager& sources, source::FileId file, const Situation& situation);

}  // namespace expc::parse
