#pragma once

// Labels of levels for people: "precision=fp32 gpus=2".

#include <string>
#include <string_view>

namespace expc::plan {

/// Stands where a point has no level of a factor.
inline constexpr char kNoLevel[] = "–";

/// Adds "precision=fp32" to a text of such labels.
inline void addLabel(std::string& text, std::string_view factor, std::string_view label,
                     std::string_view separator = " ") {
  if (!text.empty()) text += separator;
  text.append(factor).append("=").append(label);
}

}  // namespace expc::plan
