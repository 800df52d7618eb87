#pragma once

// A call of a torch operator as an observer of records sees it, and its floating-point operations from the shapes of
// what it is given.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace expc::profile {

/// The tensors in a value: one, those of a list, or none. Undefined ones are left out.
std::vector<at::Tensor> tensorsIn(const c10::IValue& value);

/// Arguments by the names that the operator's schema has for them. Both must live longer.
class OperatorCall {
 public:
  OperatorCall(const c10::OperatorHandle& handle, c10::ArrayRef<const c10::IValue> values)
      : handle_(handle), values_(values) {}

  std::string_view name() const { return handle_.operator_name().name; }  // "aten::mm"
  const c10::OperatorHandle& handle() const { return handle_; }
  const std::vector<c10::Argument>& arguments() const { return handle_.schema().arguments(); }
  const c10::IValue& value(size_t position) const { return values_[position]; }
  size_t count() const { return std::min(arguments().size(), values_.size()); }

  /// None is one that the schema lacks, too.
  c10::IValue get(std::string_view argument) const;
  at::Tensor tensor(std::string_view argument) const;  // undefined: none
  bool flag(std::string_view argument) const;
  std::optional<int64_t> whole(std::string_view argument) const;

 private:
  const c10::OperatorHandle& handle_;
  c10::ArrayRef<const c10::IValue> values_;
};

/// How many scores a call of fused attention computes.
struct AttentionPairs {
  double pairs = 0;  // of a query and a key that it sees, over all samples and heads
  bool backward = false;
};

/// Of torch's fused attention of any kind. What a bias masks counts, what the kernel's own causal mask hides does not.
/// Packed samples count by their lengths, which are read from the device; where these cannot be, as the shortest that
/// they can be, all alike. Nothing for other operators, and for windows.
std::optional<AttentionPairs> attentionPairs(const OperatorCall& call);

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
