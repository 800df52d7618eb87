#pragma once

// How many scores a call of fused attention computes.

#include <optional>

#include "runtime/worker/profile/operator_call.h"

namespace expc::profile {

struct AttentionPairs {
  double pairs = 0;  // of a query and a key that it sees, over all samples and heads
  bool backward = false;
};

/// Of torch's fused attention of any kind. What a bias masks counts, what the kernel's own causal mask hides does not.
/// Packed samples count by their lengths, which are read from the device; where these cannot be, as the shortest that
/// they can be, all alike. Nothing for other operators, and for windows.
std::optional<AttentionPairs> attentionPairs(const OperatorCall& call);

/// Whether the operator is one of these.
bool isAttention(std::string_view name);

}  // namespace expc::profile
