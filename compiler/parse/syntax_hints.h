#pragma once

#include <string>
#include <string_view>

#include "compiler/parse/syntax_errors.h"

namespace expc::parse {

/// What a common slip, or a habit of another language, was meant to be: "; a range is written 1..4". "" for none.
/// `file` is the whole text.
std::string hint(std::string_view file, const Situation& situation);

}  // namespace expc::parse
