#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/export/source.h"

namespace expc::exports {

/// A summary for a pull request, in GitHub's and GitLab's Markdown: each study's verdicts with why, the cells of its
/// criteria and its tables folded away, and what is missing.
std::string markdown(std::span<const Source> sources);

/// Text that stands in Markdown as it is: it makes no markup, no HTML, no table cell and no line of its own, and names
/// nobody (@), no issue (#) and no address (://).
std::string markdownText(std::string_view text);

}  // namespace expc::exports
