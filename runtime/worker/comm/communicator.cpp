// The communicator over c10d. Every call runs inside guarded() (process_group.h), which names the
// operation in errors and lets the watch see how long it takes. Collectives on a GPU only queue
// work; their failures come later, through the watch.

#include "runtime/worker/comm/communicator.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <llvm/ADT/StringExtras.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/worker/comm/process_group.h"

namespace expc::comm {
namespace {

c10d::ReduceOp reduceOp(Reduction reduction) {
  return reduction == Reduction::Sum ? c10d::ReduceOp::SUM : c10d::ReduceOp::MAX;
}

/// The store at which ranks meet. A single rank needs no network.
c10::intrusive_ptr<c10d::Store> openStore(const Rendezvous& rendezvous) {
  c10::intrusive_ptr<c10d::Store> store;
  if (rendezvous.world_size == 1) {
    store = c10::make_intrusive<c10d::HashStore>();
  } else {
    c10d::TCPStoreOptions options;
    options.port = rendezvous.master_port;
    options.isServer = rendezvous.rank == 0;
    options.numWorkers = rendezvous.world_size;
    options.timeout = rendezvous.timeout;
    store = c10::make_intrusive<c10d::TCPStore>(rendezvous.master_address, options);
  }
  store->setTimeout(rendezvous.timeout);
  return store;
}

/// The reaction to a lost rank if the caller has none: exit handlers are skipped, since they could
/// wait for the GPU.
void reportAndLeave(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  _exit(1);
}

/// Starts a collective on a tensor that has one part per rank. A GPU does it in one piece; the CPU
/// does it part by part, because c10d's all-gather with Gloo would allocate a second buffer of the
/// whole size.
/// @param of_whole starts it on the whole tensor and this rank's part
/// @param of_part starts it on the part of rank `root`
template <typename Whole, typename Part>
Pending start(Group& group, const char* operation, const at::Tensor& whole, Whole of_whole, Part of_part) {
  return guarded(group, operation, [&] {
    const Rendezvous& rendezvous = group.rendezvous;
    const int64_t part = whole.size(0) / rendezvous.world_size;
    TORCH_CHECK(part * rendezvous.world_size == whole.size(0), "equal parts");
    std::vector<c10::intrusive_ptr<c10d::Work>> works;
    if (!whole.is_cpu()) works.push_back(of_whole(whole, whole.narrow(0, part * rendezvous.rank, part)));
    for (unsigned root = 0; whole.is_cpu() && root < rendezvous.world_size; ++root)
      works.push_back(of_part({whole.narrow(0, part * root, part)}, root));
    return Pending([rendezvous, operation, works = std::move(works)] {
      guarded(rendezvous, operation, [&] {
        for (const auto& work : works) work->wait();
      });
    });
  });
}

}  // namespace

std::unique_ptr<Communicator> Communicator::open(const Rendezvous& rendezvous, OnLost on_lost) {
  // Gloo writes to sockets without MSG_NOSIGNAL. If a rank dies between two messages this process
  // must get an error instead of being killed.
  std::signal(SIGPIPE, SIG_IGN);
  const std::string place =
      "the rendezvous at " + rendezvous.master_address + ":" + std::to_string(rendezvous.master_port);
  return guarded(rendezvous, place.c_str(), [&] {
    auto group = std::make_unique<Group>();
    group->rendezvous = rendezvous;
    group->on_lost = on_lost ? std::move(on_lost) : reportAndLeave;
    group->store = openStore(rendezvous);
    auto prefixed = c10::make_intrusive<c10d::PrefixStore>("expc", group->store);
    group->processes =
        c10::make_intrusive<c10d::ProcessGroup>(prefixed, int(rendezvous.rank), int(rendezvous.world_size));
    auto gloo = makeGloo(c10::make_intrusive<c10d::PrefixStore>("gloo", prefixed), rendezvous);
    group->processes->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO, gloo);
    group->processes->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
    return std::unique_ptr<Communicator>(new Communicator(std::move(group)));
  });
}

Communicator::Communicator(std::unique_ptr<Group> group) : group_(std::move(group)) {}
Communicator::~Communicator() = default;

unsigned Communicator::rank() const { return group_->rendezvous.rank; }
unsigned Communicator::worldSize() const { return group_->rendezvous.world_size; }

void Communicator::allReduce(at::Tensor& tensor, Reduction reduction) {
  guarded(*group_, "an all-reduce", [&] {
    c10d::AllreduceOptions options;
    options.reduceOp = reduceOp(reduction);
    std::vector<at::Tensor> tensors{tensor};
    group_->processes->allreduce(tensors, options)->wait();
  });
}

void Communicator::broadcastAll(const std::vector<at::Tensor>& tensors, unsigned root, size_t buffer_bytes) {
  // Without tensors c10d would fail, and a single rank has nobody to send to.
  if (worldSize() == 1 || tensors.empty()) return;
  guarded(*group_, "a broadcast of many tensors", [&] {
    at::NoGradGuard no_grad;
    c10d::broadcast_coalesced(group_->processes, tensors, buffer_bytes, int(root));
  });
}

std::vector<at::Tensor> Communicator::allGather(const at::Tensor& tensor) {
  return guarded(*group_, "an all-gather", [&] {
    std::vector<std::vector<at::Tensor>> outputs(1);
    for (unsigned rank = 0; rank < worldSize(); ++rank) outputs[0].push_back(at::empty_like(tensor));
    std::vector<at::Tensor> inputs{tensor};
    group_->processes->allgather(outputs, inputs)->wait();
    return outputs[0];
  });
}

void Communicator::allReduceAll(const std::vector<at::Tensor>& tensors, Reduction reduction, size_t buffer_bytes) {
  if (worldSize() == 1) return;
  at::NoGradGuard no_grad;
  // Pack as many tensors as fit, but at least one, into one buffer: a collective for each would
  // cost a round trip each.
  for (size_t first = 0, last = 0; first < tensors.size(); first = last) {
    size_t bytes = 0;
    std::vector<at::Tensor> flat;
    for (; last < tensors.size() && (last == first || bytes + tensors[last].nbytes() <= buffer_bytes); ++last) {
      bytes += tensors[last].nbytes();
      flat.push_back(tensors[last].reshape({-1}));
    }
    at::Tensor packed = at::cat(flat);
    allReduce(packed, reduction);
    int64_t at = 0;
    for (size_t i = first; i < last; at += tensors[i++].numel())
      at::Tensor(tensors[i]).copy_(packed.narrow(0, at, tensors[i].numel()).view(tensors[i].sizes()));
  }
}

Pending Communicator::startAllGather(const at::Tensor& whole) {
  return start(
      *group_, "an all-gather", whole,
      [&](at::Tensor all, at::Tensor mine) { return group_->processes->_allgather_base(all, mine, {}); },
      [&](std::vector<at::Tensor> part, unsigned root) {
        c10d::BroadcastOptions options;
        options.rootRank = root;
        return group_->processes->broadcast(part, options);
      });
}

Pending Communicator::startReduceScatter(const at::Tensor& whole, Reduction reduction) {
  return start(
      *group_, "a reduce-scatter", whole,
      [&](at::Tensor all, at::Tensor mine) {
        c10d::ReduceScatterOptions options;
        options.reduceOp = reduceOp(reduction);
        return group_->processes->_reduce_scatter_base(mine, all, options);
      },
      [&](std::vector<at::Tensor> part, unsigned root) {
        c10d::ReduceOptions options;
        options.reduceOp = reduceOp(reduction);
        options.rootRank = root;
        return group_->processes->reduce(part, options);
      });
}

at::Tensor gatherOnHost(Communicator& communicator, const at::Tensor& own, unsigned root, int64_t buffer_bytes) {
  at::NoGradGuard no_grad;
  const int64_t ranks = communicator.worldSize(), rank = communicator.rank();
  // Bytes, so that any type can be gathered.
  const at::Tensor flat = own.detach().contiguous().view({-1}).view(at::kByte);
  // The buffer holds a piece of every rank. Only the root keeps the whole result, on the host.
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

void Communicator::watchQueued(std::function<bool()> ended) {
  if (!group_->watch) return;
  group_->watch->nowIn("a step");
  group_->queued.add(std::move(ended));
}

void Communicator::barrier() {
  // An all-reduce serves as a barrier: every rank's result depends on every other's value, so
  // nobody leaves before the last has come.
  auto one = at::ones({1}, at::kInt);
  guarded(*group_, "a barrier", [&] {
    std::vector<at::Tensor> tensors{one};
    group_->processes->allreduce(tensors)->wait();
  });
}

std::vector<double> Communicator::allReduce(std::vector<double> values, Reduction reduction) {
  auto tensor = at::from_blob(values.data(), {std::ssize(values)}, at::kDouble);
  allReduce(tensor, reduction);
  return values;
}

void Communicator::shutdown() {
  // After the barrier nobody expects anything from anybody; only then is the group taken down. The
  // watch goes next, so that it does not report ranks that leave as lost.
  barrier();
  guarded(*group_, "the shutdown", [&] { group_->processes->shutdown(); });
  group_->watch.reset();
  guarded(group_->rendezvous, "the shutdown", [&] {
    // Rank 0 serves the store. If it left first, the last answers to its clients would be cut off.
    if (worldSize() > 1) {
      const int64_t left = group_->store->add("expc/left", 1);
      if (rank() == 0 && left < worldSize()) {
        while (group_->store->add("expc/left", 0) < worldSize())
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    group_->processes.reset();
    group_->store.reset();
  });
}

}  // namespace expc::comm
