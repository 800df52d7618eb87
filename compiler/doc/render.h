#pragma once

#include <string>

#include "compiler/doc/module_page.h"
#include "compiler/explain/markdown.h"

namespace expc::doc {

/// For a terminal: each thing as it is declared, its comment wrapped below it.
std::string renderText(const ModulePage& page, const explain::TextStyle& style);

/// For docs/stdlib: parameters and metrics in tables.
std::string renderMarkdown(const ModulePage& page);

}  // namespace expc::doc
