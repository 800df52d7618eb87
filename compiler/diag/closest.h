#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace expc::diag {

/// The candidate that `name` most likely meant: the least edit distance (case counts little), at most a third of the
/// length, the first on a tie; nothing when none is near.
std::optional<std::string> closest(std::string_view name, const std::vector<std::string>& candidates);

/// "did you mean 'gpus'?" where a candidate is near, else `otherwise`.
std::string didYouMean(std::string_view name, const std::vector<std::string>& candidates, std::string otherwise);

}  // namespace expc::diag
