#include "runtime/worker/llama/matrix.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>

#include <optional>

namespace expc::llama {
namespace {

using Linear = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, c10::string_view,
                          c10::List<std::optional<at::Scalar>>, std::optional<c10::string_view>);

/// oneDNN's product, which torch has for compiled models only; nothing where torch was built without it.
const std::optional<c10::TypedOperatorHandle<Linear>>& oneDnnLinear() {
  static const auto found = []() -> std::optional<c10::TypedOperatorHandle<Linear>> {
    const auto handle = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
    if (!handle || !at::hasMKLDNN()) return std::nullopt;
    return handle->typed<Linear>();
  }();
  return found;
}

bool oneDnnServes(const at::Tensor& x, const at::Tensor& w) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && w.scalar_type() == at::kFloat && x.numel() > 0 &&
         w.numel() > 0 && at::globalContext().userEnabledMkldnn() && oneDnnLinear().has_value();
}

at::Tensor byOneDnn(const at::Tensor& x, const at::Tensor& w) {
  const at::NoGradGuard no_grad;
  const c10::List<std::optional<at::Scalar>> no_scalars;
  return oneDnnLinear()->call(x, w, std::nullopt, "none", no_scalars, "");
}

}  // namespace

at::Tensor timesTransposed(const at::Tensor& x, const at::Tensor& w) {
  return oneDnnServes(x, w) ? byOneDnn(x, w) : at::linear(x, w);
}

at::Tensor times(const at::Tensor& g, const at::Tensor& w) {
  return oneDnnServes(g, w) ? byOneDnn(g, w.t()) : at::mm(g, w);
}

void addTimes(at::Tensor& sum, const at::Tensor& g, const at::Tensor& w) {
  if (!sum.defined())
    sum = times(g, w);
  else if (oneDnnServes(g, w))
    sum.add_(times(g, w));
  else
    sum.addmm_(g, w);
}

}  // namespace expc::llama
