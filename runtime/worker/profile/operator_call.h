#pragma once

// A call of a torch operator as an observer of records sees it.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <cstdint>
#include <optional>
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

}  // namespace expc::profile
