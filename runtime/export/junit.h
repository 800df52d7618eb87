#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/export/source.h"

namespace expc::exports {

/// JUnit's XML: a suite for each study, a case for each criterion. A criterion that fails is a failure; one that is not
/// decided an error, since a gate must not take it for a pass; one that a preset does not ask is skipped.
std::string junit(std::span<const Source> sources);

/// Text for XML's content and quoted attributes: everything that could be markup is escaped, and what XML 1.0 cannot
/// hold is U+FFFD.
std::string xml(std::string_view text);

}  // namespace expc::exports
