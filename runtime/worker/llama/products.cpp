// Products as autograd functions that keep less than torch's operators would: an adapter's input once for all weights
// that read it, no dropped copy, and no matrix expanded from NF4.

#include "runtime/worker/llama/products.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cassert>
#include <optional>
#include <utility>

#include "runtime/worker/llama/layers.h"
#include "runtime/worker/llama/random_weights.h"

namespace expc::llama {
namespace {

// The signature of torch's operator, needed to call it without the dispatcher's boxing.
using Linear = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, c10::string_view,
                          c10::List<std::optional<at::Scalar>>, std::optional<c10::string_view>);

/// oneDNN's product, an operator that torch registers for compiled models only and that has no C++ function. Nothing
/// if torch was built without it.
const std::optional<c10::TypedOperatorHandle<Linear>>& oneDnnLinear() {
  static const auto found = []() -> std::optional<c10::TypedOperatorHandle<Linear>> {
    const auto handle = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
    if (!handle || !at::hasMKLDNN()) return std::nullopt;
    return handle->typed<Linear>();
  }();
  return found;
}

/// Whether oneDNN's product takes these: fp32 on the CPU, not empty, and not switched off by the user.
bool oneDnnServes(const at::Tensor& x, const at::Tensor& w) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && w.scalar_type() == at::kFloat && x.numel() > 0 &&
         w.numel() > 0 && at::globalContext().userEnabledMkldnn() && oneDnnLinear().has_value();
}

/// x w^T. The operator has no derivative, so it must not see a graph.
at::Tensor byOneDnn(const at::Tensor& x, const at::Tensor& w) {
  const at::NoGradGuard no_grad;
  const c10::List<std::optional<at::Scalar>> no_scalars;
  return oneDnnLinear()->call(x, w, std::nullopt, "none", no_scalars, "");
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// y_i = x W_i^T.
struct TrainedProducts : torch::autograd::Function<TrainedProducts> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x, at::TensorList weights) {
    variable_list results, saved = {x};
    for (const at::Tensor& weight : weights) {
      results.push_back(timesTransposed(x, weight));
      saved.push_back(weight);
    }
    ctx->save_for_backward(std::move(saved));
    return results;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    variable_list result(1 + gradients.size());
    for (size_t i = 0; i < gradients.size(); ++i) {
      // x's gradient is the sum over all products that read it.
      if (ctx->needs_input_grad(0)) addTimes(result[0], gradients[i], saved[1 + i]);
      if (ctx->needs_input_grad(1 + i)) result[1 + i] = at::mm(gradients[i].t(), saved[0]);
    }
    return result;
  }
};

/// The arguments of AdaptedProducts that are no tensors with gradients.
struct Group : torch::CustomClassHolder {
  std::vector<FrozenWeight> weights;
  std::vector<bool> adapted;   // whether each weight has an adapter
  std::vector<double> scales;  // of each weight's adapter
  AdapterUse use;
};

/// x with elements dropped and the others scaled up; the same seed drops the same elements.
at::Tensor dropped(const at::Tensor& x, const AdapterUse& use) {
  if (use.dropout == 0) return x;
  // A generator of the device's kind, because the process' own must not be moved or depended on.
  at::Generator generator = at::globalContext().defaultGenerator(x.device()).clone();
  generator.set_current_seed(use.dropout_seed);
  return at::empty_like(x).bernoulli_(1 - use.dropout, generator).mul_(x).div_(1 - use.dropout);
}

/// Matrices stacked below each other: as a view if they lie so in memory, which layBehindEachOther sees to, else a
/// copy.
at::Tensor stacked(const variable_list& parts) {
  const at::Tensor& first = parts[0];
  int64_t rows = 0, end = first.storage_offset();
  for (const at::Tensor& part : parts) {
    if (!part.is_alias_of(first) || part.storage_offset() != end || !part.is_contiguous()) return at::cat(parts);
    rows += part.size(0);
    end += part.numel();
  }
  return first.as_strided({rows, first.size(1)}, {first.size(1), 1});
}

/// to = factor a b, one launch on a device; `to` may be some columns of a wider matrix.
void setTimes(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b, double factor) {
  at::Tensor out = to;
  at::addmm_out(out, to, a, b, /*beta=*/0, factor);
}

/// The gradient of an adapter's second matrix, from x A^T [n, rank] and the result's gradient [n, out].
at::Tensor gradientOfSecond(const at::Tensor& reduced, const at::Tensor& gradient, double scale) {
  // On the CPU compute the transpose, a product with few rows: one with few columns takes up to nine times as long.
  if (gradient.is_cpu()) return at::mm(reduced.t(), gradient).t().contiguous().mul_(scale);
  const at::Tensor result = at::empty({gradient.size(1), reduced.size(1)}, gradient.options());
  setTimes(result, gradient.t(), reduced, scale);
  return result;
}

/// The gradient of x A^T for all adapters [n, sum of ranks], collected adapter by adapter. On a device each writes
/// its columns of one matrix; on the CPU a transposed product is faster, so columns are joined at the end.
class ReducedGradient {
 public:
  explicit ReducedGradient(const at::Tensor& reduced) {
    if (!reduced.is_cpu()) whole_ = at::empty_like(reduced);
  }
  /// Adds the columns of the next adapter, from its result's gradient and its second matrix.
  void add(const at::Tensor& gradient, const at::Tensor& b, double scale) {
    if (whole_.defined())
      setTimes(whole_.narrow(1, column_, b.size(1)), gradient, b, scale);
    else
      parts_.push_back(at::mm(b.t(), gradient.t()).t().mul_(scale));
    column_ += b.size(1);
  }
  at::Tensor whole() const { return whole_.defined() ? whole_ : at::cat(parts_, 1); }

 private:
  at::Tensor whole_;
  variable_list parts_;
  int64_t column_ = 0;
};

/// sum += gradient W, if there is a gradient.
void addThrough(at::Tensor& sum, const at::Tensor& gradient, const FrozenWeight& weight) {
  if (gradient.defined()) addTimes(sum, gradient, weight.matrix(gradient.scalar_type()));
}

/// Base products with adapters. saved: x, x A^T, the stacked A, then each B; nothing at all without adapters.
struct AdaptedProducts : torch::autograd::Function<AdaptedProducts> {
  /// `adapters`: a and b of each adapted weight, in order.
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x, at::TensorList adapters,
                               const c10::intrusive_ptr<Group>& group) {
    variable_list saved, first;
    for (size_t i = 0; i < adapters.size(); i += 2) first.push_back(adapters[i]);
    at::Tensor reduced;
    if (!first.empty()) {
      const at::Tensor all = first.size() == 1 ? first[0] : stacked(first);
      reduced = at::linear(dropped(x, group->use), all);
      saved = {x, reduced, all};
      for (size_t i = 1; i < adapters.size(); i += 2) saved.push_back(adapters[i]);
    }
    variable_list results;
    int64_t column = 0;
    size_t next = 0;
    for (size_t i = 0; i < group->weights.size(); ++i) {
      results.push_back(timesTransposed(x, group->weights[i].matrix(x.scalar_type())));
      if (!group->adapted[i]) continue;
      const at::Tensor& b = adapters[2 * next++ + 1];
      results.back().addmm_(reduced.narrow(1, column, b.size(1)), b.t(), 1, group->scales[i]);
      column += b.size(1);
    }
    ctx->save_for_backward(std::move(saved));
    ctx->saved_data["group"] = c10::IValue::make_capsule(group);
    ctx->set_materialize_grads(false);
    return results;
  }

  /// One gradient for each of forward's arguments: x, then a and b of each adapter, then the group.
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto capsule = ctx->saved_data["group"].toCapsule();
    const auto& group = static_cast<const Group&>(*capsule);
    at::Tensor towards_x;
    const bool wanted = ctx->needs_input_grad(0);
    if (saved.empty()) {
      for (size_t i = 0; wanted && i < group.weights.size(); ++i) addThrough(towards_x, gradients[i], group.weights[i]);
      return {towards_x, at::Tensor()};
    }
    const size_t adapted = saved.size() - 3;
    variable_list result(2 + 2 * adapted);
    ReducedGradient reduced(saved[1]);
    int64_t column = 0;
    size_t next = 0;
    for (size_t i = 0; i < group.weights.size(); ++i) {
      if (wanted) addThrough(towards_x, gradients[i], group.weights[i]);
      if (!group.adapted[i]) continue;
      const at::Tensor& b = saved[3 + next];
      const at::Tensor gradient =
          gradients[i].defined() ? gradients[i] : at::zeros({saved[0].size(0), b.size(0)}, b.options());
      result[2 + 2 * next++] = gradientOfSecond(saved[1].narrow(1, column, b.size(1)), gradient, group.scales[i]);
      reduced.add(gradient, b, group.scales[i]);
      column += b.size(1);
    }
    const at::Tensor whole = reduced.whole();
    const at::Tensor first = at::mm(whole.t(), dropped(saved[0], group.use));
    int64_t row = 0;
    for (size_t i = 0; i < adapted; ++i) {
      const int64_t rank = saved[3 + i].size(1);
      result[1 + 2 * i] = first.narrow(0, row, rank);
      row += rank;
    }
    // drop(x) A^T goes back through the same dropout: without one it is one product added in place.
    if (wanted && group.use.dropout == 0) towards_x.addmm_(whole, saved[2]);
    if (wanted && group.use.dropout > 0) towards_x.add_(dropped(at::mm(whole, saved[2]), group.use));
    result[0] = towards_x;
    return result;
  }
};

/// y = x times a factor of each column. torch's own product sums the factor's gradient over rows in a workspace that is
/// on a GPU up to twice as large as x; a product with ones needs none.
struct ScaledColumns : torch::autograd::Function<ScaledColumns> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& factors) {
    ctx->save_for_backward({x, factors});
    return x * factors;
  }
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &gradient = gradients[0];
    const at::Tensor towards_x = gradient * saved[1], each = gradient * x;
    return {towards_x, x.is_cpu() ? each.sum(0) : at::mv(each.t(), at::ones({x.size(0)}, x.options()))};
  }
};

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

void layBehindEachOther(const std::vector<at::Tensor>& firsts) {
  if (firsts.size() < 2) return;
  const at::NoGradGuard no_grad;
  const at::Tensor whole = at::cat(firsts);
  int64_t row = 0;
  for (at::Tensor part : firsts) {
    part.set_data(whole.narrow(0, row, part.size(0)));
    row += part.size(0);
  }
}

uint64_t dropoutSeed(uint64_t seed, uint64_t pass, uint64_t place) { return mixed(mixed(mixed(seed) + pass) + place); }

std::vector<at::Tensor> trainedProducts(const at::Tensor& x, const std::vector<at::Tensor>& weights) {
  assert(x.dim() == 2);
  return TrainedProducts::apply(x, at::TensorList(weights));
}

std::vector<at::Tensor> adaptedProducts(const at::Tensor& x, const std::vector<FrozenWeight>& weights,
                                        const std::vector<Adapter>& adapters, const AdapterUse& use) {
  assert(x.dim() == 2 && weights.size() == adapters.size());
  auto group = c10::make_intrusive<Group>();
  group->weights = weights;
  group->use = use;
  std::vector<at::Tensor> matrices;
  for (const Adapter& adapter : adapters) {
    group->adapted.push_back(adapter.defined());
    group->scales.push_back(adapter.scale);
    if (!adapter.defined()) continue;
    matrices.push_back(adapter.a);
    matrices.push_back(adapter.b);
  }
  std::vector<at::Tensor> results = AdaptedProducts::apply(x, at::TensorList(matrices), group);
  for (size_t i = 0; i < results.size(); ++i)
    if (adapters[i].magnitude.defined())
      results[i] = ScaledColumns::apply(
          results[i], magnitudeFactor(weights[i].matrix(x.scalar_type()), adapters[i]).to(x.scalar_type()));
  return results;
}

at::Tensor adaptedWeight(const at::Tensor& weight, const Adapter& adapter) {
  const at::NoGradGuard no_grad;
  const at::ScalarType type = accumulateType(adapter.a.scalar_type());
  return at::addmm(weight.to(type), adapter.b.to(type), adapter.a.to(type), 1, adapter.scale);
}

at::Tensor magnitudeFactor(const at::Tensor& weight, const Adapter& adapter) {
  return adapter.magnitude / at::linalg_vector_norm(adaptedWeight(weight, adapter), 2, at::IntArrayRef{1});
}

}  // namespace expc::llama
