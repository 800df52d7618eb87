#pragma once

#include <optional>

#include "nullgpu/core/counters_api.h"

namespace expc::profile {

/// What this process did on null cards so far; nothing where its cards are others.
std::optional<nullgpu_counts> nullCounters();

}  // namespace expc::profile
