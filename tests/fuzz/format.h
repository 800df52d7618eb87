#pragma once

#include <string>

namespace expc::fuzz {

/// Formats any bytes, and what they are with other white space and longer names. Ends the process where the formatter
/// breaks one of its promises (tests/format/properties.h).
void formatText(const std::string& text);

}  // namespace expc::fuzz
