// Tests that collectives keep their order although streams move in any order.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "nullgpu/core/activity.h"
#include "nullgpu/tests/ranks.h"

using namespace nullgpu::nccl;

namespace {

unsigned seeds() {
  const char* asked = getenv("NULLGPU_TEST_SEEDS");
  return asked ? unsigned(atoi(asked)) : 8;
}

ncclUniqueId idFrom(const Rank& rank, ncclComm_t comm, cudaStream_t stream) {
  ncclUniqueId id{};
  if (rank.number == 0) require(ncclGetUniqueId(&id), "ncclGetUniqueId");
  const OnCard<char> bytes(std::vector<char>(id.internal, id.internal + sizeof(id.internal)));
  require(ncclBroadcast(bytes.at(), bytes.at(), sizeof(id), ncclInt8, 0, comm, stream), "ncclBroadcast");
  const auto read = bytes.read(stream);
  std::copy(read.begin(), read.end(), id.internal);
  return id;
}

/// All-reduces and all-gathers on two streams, by two communicators, without a wait between them.
void interleave(const Rank& rank) {
  const ncclComm_t first = join(rank);
  const cudaStream_t streams[] = {newStream(), newStream()};
  Rank again = rank;
  again.id = idFrom(rank, first, streams[0]);
  const ncclComm_t comms[] = {first, join(again)};
  constexpr size_t kCount = 40'000;
  const OnCard<int> sum(std::vector<int>(kCount, 1)), product(std::vector<int>(3, 1)), source({rank.number});
  const OnCard<int> all(std::vector<int>(size_t(rank.of), -1));
  const int rounds = 6;
  for (int round = 0; round < rounds; ++round) {
    require(ncclAllReduce(sum.at(), sum.at(), kCount, ncclInt32, ncclSum, comms[0], streams[0]), "sum");
    require(ncclAllReduce(product.at(), product.at(), 3, ncclInt32, ncclSum, comms[1], streams[1]), "product");
    require(ncclAllGather(source.at(), all.at(), 1, ncclInt32, comms[round % 2], streams[1]), "ncclAllGather");
  }
  int expected = 1;
  for (int round = 0; round < rounds; ++round) expected *= rank.of;
  for (const int value : sum.read(streams[0])) require(value == expected, "a sum of sums");
  for (const int value : product.read(streams[1])) require(value == expected, "a small sum of sums");
  const auto gathered = all.read(streams[1]);
  for (int other = 0; other < rank.of; ++other) require(gathered[other] == other, "gathered");
  for (const ncclComm_t comm : comms) require(ncclCommDestroy(comm), "ncclCommDestroy");
}

/// A ring in which all ranks send before they receive.
void ring(const Rank& rank) {
  const ncclComm_t comm = join(rank);
  const cudaStream_t stream = newStream();
  constexpr size_t kCount = 50'000;
  const int next = (rank.number + 1) % rank.of, before = (rank.number + rank.of - 1) % rank.of;
  const OnCard<int> mine(std::vector<int>(kCount, rank.number)), other(std::vector<int>(kCount, -1));
  const OnCard<int> small({rank.number + 10}), other_small({-1});
  require(ncclGroupStart(), "ncclGroupStart");
  require(ncclSend(mine.at(), kCount, ncclInt32, next, comm, stream), "ncclSend");
  require(ncclSend(small.at(), 1, ncclInt32, next, comm, stream), "ncclSend");
  require(ncclRecv(other.at(), kCount, ncclInt32, before, comm, stream), "ncclRecv");
  require(ncclRecv(other_small.at(), 1, ncclInt32, before, comm, stream), "ncclRecv");
  require(ncclGroupEnd(), "ncclGroupEnd");
  for (const int value : other.read(stream)) require(value == before, "received");
  require(other_small.read(stream)[0] == before + 10, "received in order");
  require(ncclCommDestroy(comm), "ncclCommDestroy");
}

/// Launches a graph with two all-reduces repeatedly, with called all-reduces between the launches.
void replay(const Rank& rank) {
  const ncclComm_t comm = join(rank);
  const cudaStream_t stream = newStream();
  const OnCard<int> captured({1, 2}), called({1});
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  require(ncclAllReduce(captured.at(), captured.at(), 2, ncclInt32, ncclSum, comm, stream), "ncclAllReduce");
  require(ncclAllReduce(captured.at(1), captured.at(1), 1, ncclInt32, ncclSum, comm, stream), "ncclAllReduce");
  require(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  require(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  for (int round = 0; round < 3; ++round) {
    require(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
    require(ncclAllReduce(called.at(), called.at(), 1, ncclInt32, ncclSum, comm, stream), "ncclAllReduce");
  }
  const auto values = captured.read(stream);
  require(values[0] == rank.of * rank.of * rank.of, "one sum a launch: " + std::to_string(values[0]));
  int twice = 2;
  for (int i = 0; i < 6; ++i) twice *= rank.of;
  require(values[1] == twice, "two sums a launch: " + std::to_string(values[1]));
  require(called.read(stream)[0] == rank.of * rank.of * rank.of, "called between launches");
  require(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
  require(cudaGraphDestroy(graph), "cudaGraphDestroy");
  require(ncclCommDestroy(comm), "ncclCommDestroy");
}

}  // namespace

TEST_CASE("two communicators on two streams, in whatever order those move") {
  for (unsigned seed = 1; seed <= seeds(); ++seed) {
    CAPTURE(seed);
    checkRanks(2, interleave, seed);
    checkRanks(4, interleave, seed);
  }
}

TEST_CASE("messages of a group do not wait for each other") {
  for (const int ranks : {1, 2, 4}) checkRanks(ranks, ring);
}

TEST_CASE("a graph repeats its collectives") {
  for (unsigned seed = 1; seed <= seeds(); ++seed) {
    CAPTURE(seed);
    checkRanks(2, replay, seed);
  }
}

TEST_CASE("what waits for another rank holds up no other stream") {
  checkRanks(2, [](const Rank& rank) {
    const ncclComm_t comm = join(rank);
    const cudaStream_t waiting = newStream(), other = newStream();
    const OnCard<int> value({1}), copy({0});
    if (rank.number == 0) {
      require(ncclAllReduce(value.at(), value.at(), 1, ncclInt32, ncclSum, comm, waiting), "ncclAllReduce");
      require(cudaMemsetAsync(copy.at(), 0, sizeof(int), other), "cudaMemsetAsync");
      require(cudaStreamSynchronize(other), "cudaStreamSynchronize");
      require(cudaStreamQuery(waiting) == cudaErrorNotReady, "the sum waits");
    }
    usleep(rank.number == 0 ? 0 : 300'000);
    if (rank.number == 1)
      require(ncclAllReduce(value.at(), value.at(), 1, ncclInt32, ncclSum, comm, waiting), "ncclAllReduce");
    require(value.read(waiting)[0] == 2, "sum");
  });
}

TEST_CASE("collectives are told as NCCL's kernels, and counted") {
  struct Kernels : nullgpu::Listener {
    std::vector<nullgpu::Activity> seen;
    void happened(const nullgpu::Activity& activity) override {
      if (activity.work == nullgpu::Work::Kernel) seen.push_back(activity);
    }
    void happened(const nullgpu::Call&) override {}
  };
  checkRanks(2, [](const Rank& rank) {
    const ncclComm_t comm = join(rank);
    const cudaStream_t stream = newStream();
    const OnCard<float> values({1, 2, 3, 4});
    Kernels kernels;
    nullgpu::listen(&kernels);
    require(ncclAllReduce(values.at(), values.at(), 4, ncclFloat32, ncclMax, comm, stream), "ncclAllReduce");
    require(ncclAllGather(values.at(), values.at(), 2, ncclFloat32, comm, stream), "ncclAllGather");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    nullgpu::listen(nullptr);
    const nullgpu_counts counters = nullgpu::counters();
    const nullgpu_collective &gathered = counters.collectives[0], reduced = counters.collectives[1];
    require(gathered.name == std::string("all_gather") && reduced.name == std::string("all_reduce") &&
                !counters.collectives[2].name && gathered.calls == 1 && reduced.calls == 1,
            "two are counted");
    require(gathered.bytes == 16 && reduced.bytes == 16, "and their bytes");
    require(kernels.seen.size() == 2, "two are told");
    require(kernels.seen[0].name == "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
            std::string(kernels.seen[0].name));
    require(kernels.seen[1].name == "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE",
            std::string(kernels.seen[1].name));
    require(kernels.seen[0].bytes == 16 && kernels.seen[1].bytes == 16, "bytes");
    require(kernels.seen[0].end > kernels.seen[0].begin && kernels.seen[0].card == unsigned(rank.number),
            "when, where");
  });
}

TEST_CASE("beyond NULLGPU_DROP ranks meet and move nothing") {
  checkRanks(2, [](const Rank& rank) {
    setenv("NULLGPU_DROP", "64", 1);
    const ncclComm_t comm = join(rank);
    const cudaStream_t stream = newStream();
    const OnCard<float> small(std::vector<float>(16, 1));
    void* large = nullptr;
    require(cudaMalloc(&large, 1 << 20), "cudaMalloc");
    require(ncclAllReduce(large, large, 1 << 18, ncclFloat32, ncclSum, comm, stream), "ncclAllReduce");
    require(ncclAllReduce(small.at(), small.at(), 16, ncclFloat32, ncclSum, comm, stream), "ncclAllReduce");
    for (const float value : small.read(stream)) require(value == 2, "small ones arrive");
  });
}
