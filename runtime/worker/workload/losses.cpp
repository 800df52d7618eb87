#include "runtime/worker/workload/losses.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace expc::workload {

llvm::Expected<std::vector<double>> takeLosses(comm::Communicator& communicator, std::vector<at::Tensor>& losses,
                                               int64_t steps_done) {
  std::vector<double> sums;
  if (!losses.empty()) {
    const auto all = at::stack(losses).to(at::kCPU, at::kDouble).contiguous();
    sums.assign(all.const_data_ptr<double>(), all.const_data_ptr<double>() + all.numel());
  }
  losses.clear();
  sums = communicator.allReduce(std::move(sums), comm::Reduction::Sum);
  const int64_t first = steps_done - static_cast<int64_t>(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    if (std::isfinite(sums[i])) continue;
    const int64_t step = first + static_cast<int64_t>(i) + 1;
    return llvm::createStringError(
        step == 1
            ? std::string("the loss of step 1, before anything is learned, is not finite: weights or data that "
                          "were read hold NaN or infinity, or overflow in this precision")
            : fmt::format("the loss of step {} is not finite: the training diverged; lower learning_rate or use a "
                          "wider precision",
                          step));
  }
  return sums;
}

}  // namespace expc::workload
