#pragma once

// A call of a torch operator as an observer of records sees it, and its floating-point operations
// by the shapes of its arguments.

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

/// The tensors in a value: one, those of a list, or none. Undefined tensors are left out.
std::vector<at::Tensor> tensorsIn(const c10::IValue& value);

/// A call of an operator, with arguments by the names in its schema. Refers to both constructor
/// arguments, which must outlive it.
class OperatorCall {
 public:
  OperatorCall(const c10::OperatorHandle& handle, c10::ArrayRef<const c10::IValue> values)
      : handle_(handle), values_(values) {}

  std::string_view name() const { return handle_.operator_name().name; }  // such as "aten::mm"
  const c10::OperatorHandle& handle() const { return handle_; }
  const std::vector<c10::Argument>& arguments() const { return handle_.schema().arguments(); }
  const c10::IValue& value(size_t position) const { return values_[position]; }
  /// Arguments that were passed; defaults may be missing.
  size_t count() const { return std::min(arguments().size(), values_.size()); }

  /// The value of an argument; None if the schema has no such argument.
  c10::IValue get(std::string_view argument) const;
  at::Tensor tensor(std::string_view argument) const;  // undefined if it is no tensor
  /// False if it is no boolean. whole() is nothing if it is no integer.
  bool flag(std::string_view argument) const;
  std::optional<int64_t> whole(std::string_view argument) const;

 private:
  const c10::OperatorHandle& handle_;
  c10::ArrayRef<const c10::IValue> values_;
};

/// The number of scores that a call of fused attention computes.
struct AttentionPairs {
  /// Pairs of a query and a key that it sees, over all samples and heads.
  double pairs = 0;
  bool backward = false;
};

/// The scores of a call of torch's fused attention, of any kind. Scores that a bias masks count,
/// since they are computed; scores that the kernel's own causal mask hides do not. Packed samples
/// count by their lengths, which are read from the device; if these are unusable, by the smallest
/// possible count. Nothing for other operators and for sliding windows.
std::optional<AttentionPairs> attentionPairs(const OperatorCall& call);

/// Floating-point operations of a call. A product of two numbers that is added to a sum counts as
/// two.
struct OperatorFlops {
  /// The type of the factors: "fp64", "fp32", "tf32", "bf16", "fp16", "fp8" or "int8".
  std::string type;
  double fixed = 0;       // for the whole call
  double per_output = 0;  // for each element of the first result
};

/// The operations of matrix products, convolutions (every tap for every element, also in the
/// padding) and fused attention (the pairs that a causal mask leaves; the backward pass computes
/// the scores again, as all these kernels do). Nothing for other operators, or if the arguments do
/// not tell.
std::optional<OperatorFlops> flopsOf(const OperatorCall& call);
/// Whether flopsOf() knows the operator.
bool multiplies(std::string_view name);

}  // namespace expc::profile
