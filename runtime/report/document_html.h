#pragma once

// Blocks of a document as markup of the page.

#include <string>
#include <vector>

#include "runtime/report/document.h"

namespace expc::report {

std::string pageMarkup(const Block& block);
std::string pageMarkup(const std::vector<Block>& blocks);
/// The words of a verdict, each with its sign.
std::string badgesMarkup(const std::vector<Badge>& badges);

/// With an upper-case first letter.
std::string capitalised(const std::string& text);

}  // namespace expc::report
