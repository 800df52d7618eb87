#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace expc::optim {

/// The norm of all gradients together, as torch.nn.utils.clip_grad_norm_ computes it; with a `largest` above zero they
/// are multiplied by min(1, largest / (norm + 1e-6)). Parameters without a gradient do not count. Where the parameters
/// are parts of those that ranks have together, `total` makes the sum of squares (fp64, no dimension) that of all
/// ranks, in place. The result has no dimension and lies on the device: nothing here waits for it.
at::Tensor clipGradients(const std::vector<at::Tensor>& parameters, double largest,
                         const std::function<void(at::Tensor&)>& total = nullptr);

}  // namespace expc::optim
