#pragma once

#include <string>

#include "compiler/parse/blocks.h"
#include "compiler/parse/syntax_errors.h"

namespace expc::parse {

/// "a level set, such as { a, b } or 1..4,": what could stand at a place; ends in a comma where a sentence that goes on
/// needs one.
std::string describeExpected(const Situation& situation);

/// "a statement of a study (workload, …)"
std::string describeStatements(const Block& block);

}  // namespace expc::parse
