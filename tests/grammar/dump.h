#pragma once

#include <string>

#include "compiler/parse/ast.h"

namespace expc::ast {

/// A module as an indented list of its declarations, in the order in which the tree keeps them; for tests. Expressions
/// are written in prefix form, so that precedence shows: `1 + 2 * 3` is `(+ 1 (* 2 3))`.
std::string dump(const Module& module);
std::string dump(const Expr& expr);

}  // namespace expc::ast
