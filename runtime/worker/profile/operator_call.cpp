#include "runtime/worker/profile/operator_call.h"

namespace expc::profile {

std::vector<at::Tensor> tensorsIn(const c10::IValue& value) {
  std::vector<at::Tensor> tensors;
  const auto add = [&](const at::Tensor& tensor) {
    if (tensor.defined()) tensors.push_back(tensor);
  };
  if (value.isTensor()) add(value.toTensor());
  if (value.isList())
    for (const c10::IValue& item : value.toListRef())
      if (item.isTensor()) add(item.toTensor());
  return tensors;
}

c10::IValue OperatorCall::get(std::string_view argument) const {
  for (size_t i = 0; i < count(); ++i)
    if (arguments()[i].name() == argument) return values_[i];
  return {};
}

at::Tensor OperatorCall::tensor(std::string_view argument) const {
  const c10::IValue value = get(argument);
  return value.isTensor() ? value.toTensor() : at::Tensor();
}

bool OperatorCall::flag(std::string_view argument) const {
  const c10::IValue value = get(argument);
  return value.isBool() && value.toBool();
}

std::optional<int64_t> OperatorCall::whole(std::string_view argument) const {
  const c10::IValue value = get(argument);
  if (!value.isInt()) return std::nullopt;
  return value.toInt();
}

}  // namespace expc::profile
