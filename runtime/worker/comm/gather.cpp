#include "runtime/worker/comm/gather.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>

namespace expc::comm {

at::Tensor gatherOnHost(Communicator& communicator, const at::Tensor& own, unsigned root, int64_t buffer_bytes) {
  at::NoGradGuard no_grad;
  const int64_t ranks = communicator.worldSize(), rank = communicator.rank();
  const at::Tensor flat = own.detach().contiguous().view({-1}).view(at::kByte);  // of any type
  const int64_t length = flat.numel(), most = std::min(length, std::max<int64_t>(1, buffer_bytes / ranks));
  const at::Tensor buffer = at::empty({ranks * most}, flat.options());
  at::Tensor all;
  if (rank == root) all = at::empty({ranks * length}, flat.options().device(at::kCPU));
  for (int64_t first = 0; first < length; first += most) {
    const int64_t count = std::min(most, length - first);
    const at::Tensor piece = buffer.narrow(0, 0, ranks * count);
    piece.narrow(0, rank * count, count).copy_(flat.narrow(0, first, count));
    communicator.startAllGather(piece).wait();
    if (rank == root) all.view({ranks, length}).narrow(1, first, count).copy_(piece.view({ranks, count}));
  }
  if (!all.defined()) return all;
  auto shape = own.sizes().vec();
  shape.insert(shape.begin(), ranks);
  return all.view(own.scalar_type()).view(shape);
}

}  // namespace expc::comm
