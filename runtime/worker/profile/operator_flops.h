#pragma once

// Floating-point operations of torch's operators, from the shapes of what they are given.

#include <optional>
#include <string>

#include "runtime/worker/profile/operator_call.h"

namespace expc::profile {

/// Two operations for each product of two numbers that is added up.
struct OperatorFlops {
  std::string type;       // of what is multiplied: "fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8"
  double fixed = 0;       // operations
  double per_output = 0;  // for each element of the first result
};

/// Of matrix products, convolutions (each tap of the kernel for each element, in the margin too) and fused attention
/// (pairs that a causal mask leaves; the backward pass computes the scores again, as all these kernels do). Nothing for
/// other operators, and where the arguments do not say how much is computed.
std::optional<OperatorFlops> flopsOf(const OperatorCall& call);
/// Whether the operator is one of these.
bool multiplies(std::string_view name);

}  // namespace expc::profile
