#pragma once

#include <string_view>

namespace expc::plan {

/// The workload of a launch that is no trial: each rank keeps the device of its slot busy, by itself, for the setting
/// "seconds". The result of rank 0 has no metrics. Every worker that drives devices understands it; it is not among the
/// workloads that `--describe` lists.
inline constexpr std::string_view kHeatUp = "expc.heat_up";

}  // namespace expc::plan
