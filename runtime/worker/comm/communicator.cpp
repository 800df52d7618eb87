#include "runtime/worker/comm/communicator.h"

#include <ATen/core/grad_mode.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <utility>

#include "runtime/worker/comm/process_group.h"

namespace expc::comm {
namespace {

c10d::ReduceOp reduceOp(Reduction reduction) {
  return reduction == Reduction::Sum ? c10d::ReduceOp::SUM : c10d::ReduceOp::MAX;
}

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

void reportAndLeave(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  _exit(1);
}

}  // namespace

std::unique_ptr<Communicator> Communicator::open(const Rendezvous& rendezvous, OnLost on_lost) {
  // Gloo writes without MSG_NOSIGNAL: a rank that dies between two messages must be an error here, not the end.
  std::signal(SIGPIPE, SIG_IGN);
  const std::string place =
      "the rendezvous at " + rendezvous.master_address + ":" + std::to_string(rendezvous.master_port);
  return guarded(rendezvous, place.c_str(), [&] {
    auto group = std::make_unique<Group>();
    group->rendezvous = rendezvous;
    group->on_lost = on_lost ? std::move(on_lost) : reportAndLeave;
    group->store = openStore(rendezvous);
    auto prefixed = c10::make_intrusive<c10d::PrefixStore>("expc", group->store);
    group->processes = c10::make_intrusive<c10d::ProcessGroup>(prefixed, static_cast<int>(rendezvous.rank),
                                                               static_cast<int>(rendezvous.world_size));
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
  if (worldSize() == 1 || tensors.empty()) return;
  guarded(*group_, "a broadcast of many tensors", [&] {
    at::NoGradGuard no_grad;
    c10d::broadcast_coalesced(group_->processes, tensors, buffer_bytes, static_cast<int>(root));
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

struct Pending::State {
  Rendezvous rendezvous;
  const char* operation;
  std::vector<c10::intrusive_ptr<c10d::Work>> works;
};

Pending::Pending() = default;
Pending::Pending(std::unique_ptr<State> state) : state_(std::move(state)) {}
Pending::Pending(Pending&&) noexcept = default;
Pending& Pending::operator=(Pending&&) noexcept = default;
Pending::~Pending() = default;

void Pending::wait() {
  if (!state_) return;
  const auto state = std::move(state_);
  guarded(state->rendezvous, state->operation, [&] {
    for (const auto& work : state->works) work->wait();
  });
}

Pending Communicator::startAllGather(const at::Tensor& whole) {
  auto state = std::make_unique<Pending::State>(Pending::State{group_->rendezvous, "an all-gather", {}});
  return guarded(*group_, state->operation, [&] {
    const int64_t part = whole.size(0) / worldSize();
    TORCH_CHECK(part * worldSize() == whole.size(0), "equal parts");
    if (!whole.is_cpu()) {
      at::Tensor output = whole, mine = whole.narrow(0, part * rank(), part);
      state->works.push_back(group_->processes->_allgather_base(output, mine, {}));
      return Pending(std::move(state));
    }
    // Gloo's all-gather of c10d goes through a second buffer of the whole's size; broadcasts do not.
    for (unsigned root = 0; root < worldSize(); ++root) {
      c10d::BroadcastOptions options;
      options.rootRank = root;
      std::vector<at::Tensor> tensors{whole.narrow(0, part * root, part)};
      state->works.push_back(group_->processes->broadcast(tensors, options));
    }
    return Pending(std::move(state));
  });
}

Pending Communicator::startReduceScatter(const at::Tensor& whole, Reduction reduction) {
  auto state = std::make_unique<Pending::State>(Pending::State{group_->rendezvous, "a reduce-scatter", {}});
  return guarded(*group_, state->operation, [&] {
    const int64_t part = whole.size(0) / worldSize();
    TORCH_CHECK(part * worldSize() == whole.size(0), "equal parts");
    if (!whole.is_cpu()) {
      c10d::ReduceScatterOptions options;
      options.reduceOp = reduceOp(reduction);
      at::Tensor input = whole, mine = whole.narrow(0, part * rank(), part);
      state->works.push_back(group_->processes->_reduce_scatter_base(mine, input, options));
      return Pending(std::move(state));
    }
    for (unsigned root = 0; root < worldSize(); ++root) {  // as above
      c10d::ReduceOptions options;
      options.reduceOp = reduceOp(reduction);
      options.rootRank = root;
      std::vector<at::Tensor> tensors{whole.narrow(0, part * root, part)};
      state->works.push_back(group_->processes->reduce(tensors, options));
    }
    return Pending(std::move(state));
  });
}

void Communicator::watchQueued(std::function<bool()> ended) {
  if (!group_->watch) return;
  group_->watch->nowIn("a step");
  group_->queued.add(std::move(ended));
}

void Communicator::barrier() {
  // Every rank's result depends on every other's value: nobody can leave before the last has come.
  auto one = at::ones({1}, at::kInt);
  guarded(*group_, "a barrier", [&] {
    std::vector<at::Tensor> tensors{one};
    group_->processes->allreduce(tensors)->wait();
  });
}

std::vector<double> Communicator::allReduce(std::vector<double> values, Reduction reduction) {
  auto tensor = at::from_blob(values.data(), {static_cast<int64_t>(values.size())}, at::kDouble);
  allReduce(tensor, reduction);
  return values;
}

void Communicator::shutdown() {
  barrier();
  guarded(*group_, "the shutdown", [&] { group_->processes->shutdown(); });
  group_->watch.reset();
  guarded(group_->rendezvous, "the shutdown", [&] {
    // Rank 0 serves the store; its clients must be gone first, or their last answers are cut off.
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
