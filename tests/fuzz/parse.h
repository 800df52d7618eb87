#pragma once

#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"

namespace expc::fuzz {

/// Loads and parses `text` as a file and as an expression, renders what is said, and checks what holds for any input:
/// tokens lie in order with white space between them, diagnostics lie in the file, a text without errors parses to the
/// same tree a second time. Ends the process where it does not.
void parseText(const std::string& text);

/// As text and as JSON; dropped.
void render(const source::SourceManager& sources, std::vector<diag::Diagnostic>& diagnostics);

}  // namespace expc::fuzz
