#pragma once

// Blocks of a document as markup of the page.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/report/document.h"

namespace expc::report {

std::string pageMarkup(const Block& block);
/// A section of the page, which its navigation links to; "" where it has no block.
std::string pageSection(std::string_view id, std::string_view title, const std::vector<Block>& blocks);

/// With an upper-case first letter.
std::string capitalised(const std::string& text);
/// Names and values in a table without headings; "" where there is none.
std::string factTable(std::string_view label, const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace expc::report
