// The loss by chunks. A chunk's logits are made, turned into log-probabilities and, in place, into their own
// gradient, and multiplied into the gradients of x and head before the next chunk's are made.

#include "runtime/worker/llama/head_loss.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cassert>
#include <optional>

#include "runtime/worker/llama/layers.h"
#include "runtime/worker/llama/loops.h"
#include "runtime/worker/llama/products.h"

namespace expc::llama {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// log p of the targets, [n]. With `gradient` the logits are replaced by the gradient of -log p of each row, times
/// the row's weight (in the type of sums) if there are weights.
at::Tensor logProbsOf(at::Tensor& logits, const at::Tensor& targets, bool gradient, const at::Tensor& weights = {}) {
  const at::ScalarType inner = accumulateType(logits.scalar_type());
  if (hostLoopsServe(logits)) {
    const at::Tensor result = at::empty({logits.size(0)}, logits.options().dtype(inner));
    const int64_t vocabulary = logits.size(1);
    overRows(logits, logits.size(0), vocabulary, [&]<typename S>(const Loops<S>& loops, int64_t first, int64_t count) {
      loops.log_probs(out<S>(logits, first * vocabulary), in<int64_t>(targets, first), in<float>(weights, first), count,
                      vocabulary, gradient, out<float>(result, first));
    });
    return result;
  }
  // torch's operators: the same in several passes, with a tensor for each.
  const at::Tensor index = targets.unsqueeze(1);
  at::Tensor logs = at::log_softmax(logits.to(inner), 1);
  const at::Tensor result = logs.gather(1, index).squeeze(1);
  if (!gradient) return result;
  logs.exp_().scatter_add_(1, index, at::full_like(index, -1, logs.options()));
  if (weights.defined()) logs.mul_(weights.unsqueeze(1));
  logits = logs.to(logits.scalar_type());
  return result;
}

/// Calls work(part) for chunks of n positions; part(tensor) are a tensor's rows of the chunk.
template <typename Work>
void inChunks(int64_t n, Work work) {
  for (int64_t first = 0; first < n; first += kHeadChunk)
    work([&](const at::Tensor& all) { return all.narrow(0, first, std::min(kHeadChunk, n - first)); });
}

/// gradient *= factor, computed in the factor's type (which may hold more than fp16), in place and by rows: a head's
/// gradient is as large as the head, so there must be no second one.
void scaleInPlace(const at::Tensor& gradient, const at::Tensor& factor) {
  inChunks(gradient.size(0), [&](const auto& part) {
    const at::Tensor rows = part(gradient);
    if (rows.scalar_type() == factor.scalar_type())
      rows.mul_(factor);
    else
      rows.copy_(rows.to(factor.scalar_type()).mul_(factor));
  });
}

/// The sum over chunks, with the gradients for a factor of 1. `learning`: whether a graph is being made.
struct HeadLossSum : torch::autograd::Function<HeadLossSum> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& head,
                            const at::Tensor& targets, const std::optional<at::Tensor>& weights, bool learning) {
    const at::ScalarType inner = accumulateType(x.scalar_type());
    const bool for_x = learning && x.requires_grad(), for_head = learning && head.requires_grad();
    at::Tensor sum = at::zeros({}, x.options().dtype(inner));
    const at::Tensor towards_x = for_x ? at::empty_like(x) : at::Tensor();
    at::Tensor towards_head;
    inChunks(x.size(0), [&](const auto& part) {
      const at::Tensor own = part(x);
      at::Tensor logits = timesTransposed(own, head);
      // From here on `logits` holds their own gradient, if one is wanted.
      const at::Tensor of = weights ? part(*weights) : at::Tensor();
      sum.sub_(weighted(logProbsOf(logits, part(targets), for_x || for_head, of), of).sum());
      if (!for_x && !for_head) return;
      if (for_x) part(towards_x).copy_(times(logits, head));
      if (!for_head) return;
      if (towards_head.defined())
        towards_head.addmm_(logits.t(), own);
      else
        towards_head = at::mm(logits.t(), own);
    });
    // Without any position there is still a gradient, of zeros: a reducer waits for it.
    if (for_head && !towards_head.defined()) towards_head = at::zeros_like(head);
    ctx->save_for_backward({towards_x, towards_head});
    return sum;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    variable_list result = ctx->get_saved_variables();
    for (const at::Tensor& gradient : result)
      if (gradient.defined()) scaleInPlace(gradient, gradients[0]);
    result.resize(5);
    return result;
  }
};

/// Log-probabilities by chunks. With a frozen head x's gradient can be made at once; else x, head and targets are
/// kept.
struct HeadLogProbs : torch::autograd::Function<HeadLogProbs> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& head,
                            const at::Tensor& targets, bool learning) {
    const at::ScalarType inner = accumulateType(x.scalar_type());
    // With a frozen head a position's gradient is a fixed vector times the gradient of its result.
    const bool ahead = learning && x.requires_grad() && !head.requires_grad();
    const at::Tensor result = at::empty({x.size(0)}, x.options().dtype(inner));
    const at::Tensor towards_x = ahead ? at::empty_like(x) : at::Tensor();
    inChunks(x.size(0), [&](const auto& part) {
      at::Tensor logits = timesTransposed(part(x), head);
      part(result).copy_(logProbsOf(logits, part(targets), ahead));
      if (ahead) part(towards_x).copy_(times(logits, head));
    });
    if (ahead)
      ctx->save_for_backward({towards_x});
    else
      ctx->save_for_backward({x, head, targets});
    return result;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    // The loss is -log p, and this node's result is log p: hence the sign.
    const at::Tensor above = gradients[0].neg().contiguous(), weight = above.unsqueeze(1);
    if (saved.size() == 1)
      return {(saved[0].to(weight.scalar_type()) * weight).to(saved[0].scalar_type()), at::Tensor(), at::Tensor(),
              at::Tensor()};
    const at::Tensor &x = saved[0], &head = saved[1], &targets = saved[2];
    variable_list result(4);
    if (ctx->needs_input_grad(0)) result[0] = at::empty_like(x);
    result[1] = at::zeros_like(head);
    inChunks(x.size(0), [&](const auto& part) {
      const at::Tensor own = part(x);
      at::Tensor logits = timesTransposed(own, head);
      logProbsOf(logits, part(targets), true, part(above));
      if (result[0].defined()) part(result[0]).copy_(times(logits, head));
      result[1].addmm_(logits.t(), own);
    });
    return result;
  }
};

struct LogProbs : torch::autograd::Function<LogProbs> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& logits, const at::Tensor& targets) {
    ctx->save_for_backward({logits, targets});
    at::Tensor read = logits.contiguous();
    return logProbsOf(read, targets, false);
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    at::Tensor gradient = hostLoopsServe(saved[0]) ? saved[0].clone() : saved[0];  // our loops write where they read
    logProbsOf(gradient, saved[1], true, gradients[0].neg().contiguous());
    return {gradient, at::Tensor()};
  }
};

}  // namespace

Labelled labelledPositions(const at::Tensor& labels, const at::Tensor& weights) {
  assert(labels.dim() == 2 && labels.scalar_type() == at::kLong && labels.is_cpu());
  const int64_t width = labels.size(1);
  // Labels shifted by one column; the last column predicts nothing.
  const auto shifted = [&](const at::Tensor& of) {
    return of.narrow(1, std::min<int64_t>(1, width), std::max<int64_t>(0, width - 1)).contiguous();
  };
  const at::Tensor next = shifted(labels);
  const at::Tensor found = at::nonzero(next != kIgnored);  // [n, 2]: row, column
  const at::Tensor rows = found.select(1, 0).contiguous(), columns = found.select(1, 1);
  return {(rows * width + columns).contiguous(), next.index({rows, columns}), rows,
          weights.defined() ? shifted(weights).index({rows, columns}) : at::Tensor()};
}

at::Tensor weighted(const at::Tensor& values, const at::Tensor& weights) {
  return weights.defined() ? values * weights.to(values.scalar_type()) : values;
}

at::Tensor Labelled::perRow(int64_t row_count, at::ScalarType type) const {
  const auto options = at::TensorOptions().dtype(type).device(rows.device());
  return at::zeros({row_count}, options)
      .index_add(0, rows, weights.defined() ? weights.to(type) : at::ones({count()}, options));
}

at::Tensor headLossSum(const at::Tensor& x, const at::Tensor& head, const at::Tensor& targets,
                       const at::Tensor& weights) {
  // A node takes no undefined tensor.
  return HeadLossSum::apply(x, head, targets, weights.defined() ? std::optional(weights) : std::nullopt,
                            at::GradMode::is_enabled());
}

at::Tensor headLogProbs(const at::Tensor& x, const at::Tensor& head, const at::Tensor& targets) {
  return HeadLogProbs::apply(x, head, targets, at::GradMode::is_enabled());
}

at::Tensor logProbs(const at::Tensor& logits, const at::Tensor& targets) { return LogProbs::apply(logits, targets); }

}  // namespace expc::llama
