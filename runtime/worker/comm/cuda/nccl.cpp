#include "runtime/worker/comm/cuda/nccl.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "runtime/worker/comm/process_group.h"

namespace expc::comm {

void addNccl(Communicator& communicator, int index) {
  Group& group = communicator.group();
  guarded(group.rendezvous, "the set-up of NCCL", [&] {
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = group.rendezvous.timeout;
    auto store = c10::make_intrusive<c10d::PrefixStore>("nccl", group.store);
    auto nccl = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, static_cast<int>(group.rendezvous.rank),
                                                            static_cast<int>(group.rendezvous.world_size), options);
    nccl->setBoundDeviceId(at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index)));
    group.processes->setBackend(c10::DeviceType::CUDA, c10d::ProcessGroup::BackendType::NCCL, nccl);
  });
}

}  // namespace expc::comm
