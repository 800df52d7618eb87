#pragma once

// Bytes that torch's operators must read and write, from the shapes of what they are given.

#include <vector>

#include "runtime/worker/profile/operator_call.h"

namespace expc::profile {

struct OperatorBytes {
  bool known = false;  // false: an operator of which nothing is said here; it moves no bytes then
  double read = 0;     // of what it is given, each byte once
  double written = 0;  // into what it is given
};

/// Of what lies on such devices. Operators of which it is not known that they read their arguments whole, and those
/// that only look at shapes, read nothing.
OperatorBytes bytesOf(const OperatorCall& call, c10::DeviceType device);

/// Bytes that a tensor on such a device reaches, 0 on another: an element that lies in several places counts once.
double bytesOf(const at::Tensor& tensor, c10::DeviceType device);

/// What a known operator leaves in results of its own, those that are none of its arguments.
double resultBytes(const c10::OperatorHandle& handle, const std::vector<c10::IValue>& results, c10::DeviceType device);

}  // namespace expc::profile
