#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace expc::llama {

/// work(x), of which nothing is kept but x: the backward pass calls `work` again. `parameters` are those that `work`
/// uses and that may need gradients. `work` must give the same result each time and outlive the graph.
at::Tensor checkpointed(const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                        std::function<at::Tensor(const at::Tensor&)> work);

}  // namespace expc::llama
