#pragma once

// Blocks of a document as text of a terminal.

#include <string>
#include <vector>

#include "runtime/report/document.h"

namespace expc::report {

/// Parts and sentences have a heading where they stand by themselves, and a line inside a part.
std::string documentText(const std::vector<Block>& blocks, unsigned width, bool colour);

}  // namespace expc::report
