// Tests errors among ranks, and faults on demand.

#include <doctest/doctest.h>

#include "nullgpu/core/stream.h"
#include "nullgpu/tests/ranks.h"

using namespace nullgpu::nccl;
using namespace std::chrono_literals;

namespace {

ncclResult_t sum(ncclComm_t comm, const OnCard<float>& values, size_t count, cudaStream_t stream) {
  return ncclAllReduce(values.at(), values.at(), count, ncclFloat32, ncclSum, comm, stream);
}

/// Checks that the stream does not move until the communicator is aborted.
void requireEndByAbort(ncclComm_t comm, cudaStream_t stream) {
  require(!ends(stream, 100ms), "the collective must not end");
  require(ncclCommAbort(comm), "ncclCommAbort");
  require(ends(stream, 20s), "an aborted collective ends");
}

using Body = std::function<void(const Rank&, ncclComm_t, cudaStream_t, const OnCard<float>&)>;

/// Checks that both ranks have the error that names both calls.
void checkMismatch(const std::string& text, const Body& body, const char* faults = "") {
  for (const std::string& said : runRanks(
           2,
           [&](const Rank& rank) {
             const ncclComm_t comm = join(rank);
             const cudaStream_t stream = newStream();
             const OnCard<float> values(std::vector<float>(4096, 1));
             body(rank, comm, stream, values);
             require(errorOf(comm) == ncclInvalidUsage, "the asynchronous error is an invalid usage");
             const std::string said = ncclGetLastError(comm);
             require(sum(comm, values, 1, stream) == ncclInvalidUsage, "later calls fail alike");
             requireEndByAbort(comm, stream);
             throw said;
           },
           1, faults))
    CHECK_MESSAGE(said.find(text) != std::string::npos, said);
}

}  // namespace

TEST_CASE("another collective") {
  checkMismatch(
      "collective 1 of a communicator of 2 ranks: rank 0 calls AllReduce of 1024 x float32 (sum), rank 1 calls "
      "AllGather "
      "of 1024 x float32; all ranks must call the same in the same order",
      [](const Rank& rank, ncclComm_t comm, cudaStream_t stream, const OnCard<float>& values) {
        if (rank.number == 0) {
          require(sum(comm, values, 1024, stream), "ncclAllReduce");
        } else {
          require(ncclAllGather(values.at(), values.at(), 1024, ncclFloat32, comm, stream), "ncclAllGather");
        }
      });
}

TEST_CASE("another count, type, reduction, root") {
  checkMismatch(
      "collective 2 of a communicator of 2 ranks: rank 0 calls AllReduce of 10 x float32 (sum), rank 1 calls "
      "AllReduce of 11 x float32 (sum)",
      [](const Rank& rank, ncclComm_t comm, cudaStream_t stream, const OnCard<float>& values) {
        require(sum(comm, values, 5, stream), "ncclAllReduce");
        require(sum(comm, values, 10 + size_t(rank.number), stream), "ncclAllReduce");
      });
  checkMismatch("rank 0 calls AllReduce of 8 x float32 (max), rank 1 calls AllReduce of 8 x bfloat16 (max)",
                [](const Rank& rank, ncclComm_t comm, cudaStream_t stream, const OnCard<float>& values) {
                  require(ncclAllReduce(values.at(), values.at(), 8, rank.number == 0 ? ncclFloat32 : ncclBfloat16,
                                        ncclMax, comm, stream),
                          "ncclAllReduce");
                });
  checkMismatch(
      "rank 0 calls Reduce of 8 x float32 (max) to rank 0, rank 1 calls Reduce of 8 x float32 (min) to rank 0",
      [](const Rank& rank, ncclComm_t comm, cudaStream_t stream, const OnCard<float>& values) {
        require(
            ncclReduce(values.at(), values.at(), 8, ncclFloat32, rank.number == 0 ? ncclMax : ncclMin, 0, comm, stream),
            "ncclReduce");
      });
  checkMismatch("rank 0 calls Broadcast of 8 x float32 from rank 0, rank 1 calls Broadcast of 8 x float32 from rank 1",
                [](const Rank& rank, ncclComm_t comm, cudaStream_t stream, const OnCard<float>& values) {
                  require(ncclBroadcast(values.at(), values.at(), 8, ncclFloat32, rank.number, comm, stream),
                          "ncclBroadcast");
                });
}

TEST_CASE("another count on demand") {
  checkMismatch(
      "collective 2 of a communicator of 2 ranks: rank 0 calls AllReduce of 8 x float32 (sum), rank 1 calls "
      "AllReduce of 9 x float32 (sum)",
      [](const Rank& rank, ncclComm_t comm, cudaStream_t stream, const OnCard<float>& values) {
        for (int call = 0; call < 2; ++call) require(sum(comm, values, 8, stream), "ncclAllReduce");
      },
      "mismatch=2, rank=1");
}

TEST_CASE("a message of another size") {
  checkMismatch("message 1 from rank 0 to rank 1: rank 0 sends 8 x float32, rank 1 receives 9 x float32",
                [](const Rank& rank, ncclComm_t comm, cudaStream_t stream, const OnCard<float>& values) {
                  if (rank.number == 0) {
                    require(ncclSend(values.at(), 8, ncclFloat32, 1, comm, stream), "ncclSend");
                    require(sum(comm, values, 1, stream), "ncclAllReduce");  // what a stream waits in
                  } else {
                    require(ncclRecv(values.at(), 9, ncclFloat32, 0, comm, stream), "ncclRecv");
                  }
                });
}

TEST_CASE("a rank that dies leaves the others waiting until they abort") {
  const auto said = runRanks(2, [](const Rank& rank) {
    const ncclComm_t comm = join(rank);
    const cudaStream_t stream = newStream();
    const OnCard<float> values(std::vector<float>(500'000, 1));
    require(sum(comm, values, 500'000, stream), "ncclAllReduce");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    if (rank.number == 1) raise(SIGKILL);
    require(sum(comm, values, 500'000, stream), "ncclAllReduce");
    ncclResult_t error = ncclSuccess;
    require(ncclCommGetAsyncError(comm, &error), "ncclCommGetAsyncError");
    require(error, "within one host nobody notices");
    requireEndByAbort(comm, stream);
    require(values.read(stream)[0] == 2, "nothing is moved by what was aborted");
  });
  CHECK(said[0] == "");
  CHECK(said[1] == "killed by signal 9");
}

TEST_CASE("a collective that never ends on one rank") {
  checkRanks(
      2,
      [](const Rank& rank) {
        const ncclComm_t comm = join(rank);
        const cudaStream_t stream = newStream();
        const OnCard<float> values({1});
        require(sum(comm, values, 1, stream), "first");
        require(values.read(stream)[0] == 2, "the first ends");
        require(sum(comm, values, 1, stream), "second");
        requireEndByAbort(comm, stream);
      },
      1, "collective=2, rank=1");
}

TEST_CASE("an asynchronous error on one rank") {
  checkRanks(
      2,
      [](const Rank& rank) {
        const ncclComm_t comm = join(rank);
        const cudaStream_t stream = newStream();
        const OnCard<float> values({1});
        require(sum(comm, values, 1, stream), "first");
        if (rank.number == 0) {
          require(errorOf(comm) == ncclRemoteError, "the asynchronous error is a remote one");
          require(std::string(ncclGetLastError(comm)).find("NULLGPU_FAULTS") != std::string::npos, "the text says why");
        }
        requireEndByAbort(comm, stream);
      },
      1, "communicator=1, rank=0");
}

TEST_CASE("after a sticky error of the card nothing is taken, and the communicator can be left") {
  checkRanks(
      1,
      [](const Rank& rank) {
        const OnCard<float> values({1});
        const ncclComm_t comm = join(rank);
        const cudaStream_t stream = newStream();
        nullgpu::launch(stream, "kernel");
        require(sum(comm, values, 1, stream) == ncclUnhandledCudaError, "refused");
        require(std::string(ncclGetLastError(comm)).find("illegal memory access") != std::string::npos,
                ncclGetLastError(comm));
        require(ncclCommAbort(comm), "ncclCommAbort");
      },
      1, "launch=1");
}

TEST_CASE("what cannot be asked") {
  checkRanks(1, [](const Rank& rank) {
    const ncclComm_t comm = join(rank);
    const cudaStream_t stream = newStream();
    const OnCard<float> values({1});
    void* at = values.at();
    require(ncclBroadcast(at, at, 1, ncclFloat32, 1, comm, stream) == ncclInvalidArgument, "a root that is no rank");
    require(ncclSend(at, 1, ncclFloat32, -1, comm, stream) == ncclInvalidArgument, "a peer that is no rank");
    require(ncclAllReduce(at, at, 1, ncclNumTypes, ncclSum, comm, stream) == ncclInvalidArgument, "no type");
    require(ncclAllReduce(at, at, 1, ncclFloat32, static_cast<ncclRedOp_t>(9), comm, stream) == ncclInvalidArgument,
            "no reduction");
    require(sum(nullptr, values, 1, stream) == ncclInvalidArgument, "no communicator");
    require(ncclGroupEnd() == ncclInvalidUsage, "no group");
    require(ncclGroupStart(), "ncclGroupStart");
    require(sum(nullptr, values, 1, stream) == ncclInvalidArgument, "no communicator");
    require(ncclGroupEnd() == ncclInvalidArgument, "a group answers what its calls did");
    require(ncclGroupStart(), "ncclGroupStart");
    require(ncclSend(at, 1, ncclFloat32, 0, comm, stream), "ncclSend");
    require(ncclRecv(at, 1, ncclFloat32, 0, comm, newStream()) == ncclInvalidUsage, "messages from two streams");
    require(ncclGroupEnd() == ncclInvalidUsage, "nothing of the group is issued");
    require(sum(comm, values, 1, stream), "the communicator goes on");
    require(values.read(stream)[0] == 1, "sum");
  });
}
