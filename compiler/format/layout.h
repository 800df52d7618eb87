#pragma once

#include <vector>

#include "compiler/format/lines.h"
#include "compiler/format/pieces.h"

namespace expc::format {

/// Where lines break and how far they are indented. Of the author's line breaks it keeps those that say something: a
/// blank line, a bracket whose content begins on a line of its own and the lines in it, the rows of a design or preset.
std::vector<Line> layOut(const File& file);

}  // namespace expc::format
