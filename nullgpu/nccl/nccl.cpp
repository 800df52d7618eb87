// NCCL's functions, as far as torch's libraries call them: arguments are checked, groups collected,
// and operations issued to communicators. Errors travel as exceptions (Failure) and become NCCL's
// codes in answered().

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "nullgpu/core/stream.h"
#include "nullgpu/nccl/communicator.h"

using namespace nullgpu::nccl;

namespace {

// Groups. Calls between ncclGroupStart and ncclGroupEnd are done at the end, so that one thread can
// serve several ranks without waiting for itself. A call outside is a group of its own.

/// A collective, or all messages of one communicator in the group. Messages go together, since a
/// rank that sends and receives must not finish one before it begins the other.
struct Issue {
  std::shared_ptr<Communicator> communicator;
  std::vector<Call> calls;
  cudaStream_t stream;

  bool isOfMessages() const { return calls.front().what.kind == Kind::Message; }
};

/// The open group of a thread.
struct Group {
  unsigned depth = 0;
  ncclResult_t answer = ncclSuccess;  // of the first call that failed
  /// Communicators that were begun and must meet.
  std::vector<std::shared_ptr<Communicator>> meeting;
  std::vector<Issue> issues;
};
thread_local Group group;

/// Ends a group unless it is an inner one: meets the ranks of new communicators, then issues the
/// calls, collectives in their order before messages. If any call failed, throws its Failure and
/// issues nothing.
void settle() {
  if (group.depth > 0) return;
  // Empty the group first, so that a failure does not leave its calls for the next one.
  Group ended = std::exchange(group, {});
  if (ended.answer != ncclSuccess) throw Failure(ended.answer, lastError());
  for (const auto& communicator : ended.meeting)
    if (communicator->blocking()) communicator->meet();
  std::ranges::stable_partition(ended.issues, [](const Issue& each) { return !each.isOfMessages(); });
  for (Issue& each : ended.issues) each.communicator->issue(std::move(each.calls), each.stream);
}

void endGroup() {
  if (group.depth == 0) throw Failure(ncclInvalidUsage, "ncclGroupEnd without an ncclGroupStart");
  --group.depth;
  settle();
}

/// Adds a call to the group; settles at once outside of one.
void issue(const std::shared_ptr<Communicator>& communicator, const Call& call, cudaStream_t stream) {
  const auto other = std::ranges::find_if(group.issues, [&](const Issue& each) {
    return call.what.kind == Kind::Message && each.isOfMessages() && each.communicator == communicator;
  });
  if (other == group.issues.end())
    group.issues.push_back({communicator, {call}, stream});
  else if (other->stream == stream)
    other->calls.push_back(call);
  else
    throw Failure(ncclInvalidUsage, "the null GPU's NCCL takes all messages of a group from one stream");
  settle();
}

/// Notes that a call of the group failed; the whole group then fails.
void noteInGroup(ncclResult_t answer) {
  if (group.depth > 0 && group.answer == ncclSuccess) group.answer = answer;
}

/// Runs the body of each function and turns what it throws into NCCL's code. A body without a
/// result means success.
template <typename Body>
ncclResult_t answered(Body body) {
  ncclResult_t answer = ncclSuccess;
  try {
    if constexpr (!std::is_void_v<decltype(body())>) return body();
    body();
    return ncclSuccess;
  } catch (const Failure& failure) {
    rememberError(failure.what());
    answer = failure.answer;
  } catch (const std::exception& error) {
    rememberError(error.what());
    answer = ncclInternalError;
  }
  noteInGroup(answer);
  return answer;
}

/// Defines a function of NCCL: its name, its parameters, and its answer.
#define NULLGPU_ANSWER(name, parameters, ...)     \
  ncclResult_t name parameters {                  \
    return answered([&] { return __VA_ARGS__; }); \
  }

/// Defines a collective: its name, its kind, its reduction and root, and the parameters, each with a comma behind it,
/// that only some have.
#define NULLGPU_COLLECTIVE(name, kind, reduction, root, ...)                                                       \
  NULLGPU_ANSWER(name,                                                                                             \
                 (const void* send, void* receive, size_t count, ncclDataType_t type, __VA_ARGS__ ncclComm_t comm, \
                  cudaStream_t stream),                                                                            \
                 call(comm, stream, {describe(kind, count, type, reduction, root), send, receive}, reduction))

void give(int* place, unsigned value) { *place = int(value); }

/// The communicator of a handle; throws Failure for null.
Communicator& the(ncclComm_t handle) {
  if (!handle) throw Failure(ncclInvalidArgument, "the communicator is null");
  return *handle->self;
}

/// The place where the caller wants an answer; throws Failure for null.
template <typename Value>
Value& place(Value* where, const char* what) {
  if (!where) throw Failure(ncclInvalidArgument, "no place for ", what);
  return *where;
}

/// Ends a communicator and its handle. With `waits`, everything issued is done before.
void end(ncclComm_t comm, bool waits) {
  if (!comm) return;
  if (waits) the(comm).drain();
  the(comm).abort();
  delete comm;
  if (waits) expect(nullgpu::health());
}

/// Begins a communicator. In a group it meets at the group's end, so the handle is given before.
ncclResult_t initialize(ncclComm_t* out, int ranks, const ncclUniqueId& id, int rank, const ncclConfig_t* config) {
  expect(nullgpu::health());
  if (!out || ranks < 1 || rank < 0 || rank >= ranks) throw Failure(ncclInvalidArgument, "rank ", rank, " of ", ranks);
  const bool blocking = !config || config->blocking != 0;
  auto communicator = std::make_shared<Communicator>(id, unsigned(ranks), unsigned(rank), blocking);
  group.meeting.push_back(communicator);
  settle();
  *out = new ncclComm{std::move(communicator)};
  return blocking ? ncclSuccess : ncclInProgress;
}

/// Describes a call; throws Failure for values outside NCCL's enumerations.
Description describe(Kind kind, size_t count, ncclDataType_t type, int reduction = ncclSum, int root = 0) {
  if (type < 0 || type >= ncclNumTypes) throw Failure(ncclInvalidArgument, "no data type ", type);
  if (reduction < 0) throw Failure(ncclInvalidArgument, "no reduction ", reduction);
  Description what;
  what.kind = kind;
  what.type = uint8_t(type);
  // Created reductions have numbers from kScaledSum on; for the ranks' comparison they are one.
  what.reduction = uint8_t(std::min<int>(reduction, kScaledSum));
  what.root = root;
  what.count = count;
  return what;
}

/// Checks what this rank alone can check, and issues the call.
ncclResult_t call(ncclComm_t handle, cudaStream_t stream, Call call, int reduction = ncclSum) {
  Communicator& communicator = the(handle);
  communicator.expectReady();
  const bool message = call.what.kind == Kind::Message;
  const int rank = message ? int(call.peer) : call.what.root;
  if (rank < 0 || unsigned(rank) >= communicator.ranks())
    throw Failure(ncclInvalidArgument, message ? "a message to or from rank " : "the root is rank ", rank, " of ",
                  communicator.ranks());
  if (call.what.reduction == kScaledSum) call.factor = communicator.factor(reduction);
  issue(handle->self, call, stream);
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  if (!version) return ncclInvalidArgument;
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t code) {
  static constexpr std::pair<ncclResult_t, const char*> kTexts[] = {
      {ncclSuccess, "no error"},
      {ncclUnhandledCudaError, "unhandled cuda error (run with NCCL_DEBUG=INFO for details)"},
      {ncclSystemError, "unhandled system error (run with NCCL_DEBUG=INFO for details)"},
      {ncclInternalError, "internal error - please report this issue to the NCCL developers"},
      {ncclInvalidArgument, "invalid argument (run with NCCL_DEBUG=WARN for details)"},
      {ncclInvalidUsage, "invalid usage (run with NCCL_DEBUG=WARN for details)"},
      {ncclRemoteError, "remote process exited or there was a network error"},
      {ncclInProgress, "NCCL operation in progress"},
  };
  for (const auto& [known, text] : kTexts)
    if (known == code) return text;
  return "unknown result code";
}

const char* ncclGetLastError(ncclComm_t) { return lastError(); }

NULLGPU_ANSWER(ncclGetUniqueId, (ncclUniqueId * id), static_cast<void>(place(id, "the unique id") = newId()))
NULLGPU_ANSWER(ncclCommInitRankConfig, (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config),
               initialize(comm, ranks, id, rank, config))
NULLGPU_ANSWER(ncclCommInitRank, (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank),
               initialize(comm, ranks, id, rank, nullptr))

ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int ranks, int rank, int ids, ncclUniqueId* id,
                                      ncclConfig_t* config) {
  return answered([&] {
    if (ids < 1 || !id) throw Failure(ncclInvalidArgument, "no unique id");
    return initialize(comm, ranks, *id, rank, config);  // one id is enough to meet
  });
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  return answered([&] {
    if (!comms || count < 1) throw Failure(ncclInvalidArgument, count, " communicators");
    // All ranks of this process begin within one group, so that they meet each other at its end.
    const ncclUniqueId id = newId();
    const auto before = int(nullgpu::currentCard());
    ++group.depth;
    for (int rank = 0; rank < count; ++rank) {
      const int device = devices ? devices[rank] : rank;
      if (cudaSetDevice(device) != cudaSuccess) {
        noteInGroup(ncclUnhandledCudaError);
        rememberError(nullgpu::joined("there is no card ", device));
        break;
      }
      if (ncclCommInitRank(&comms[rank], count, id, rank) != ncclSuccess) break;
    }
    cudaSetDevice(before);
    endGroup();
  });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return answered([&] {
    the(comm).finalize();
    return the(comm).blocking() ? ncclSuccess : the(comm).state();
  });
}

NULLGPU_ANSWER(ncclCommDestroy, (ncclComm_t comm), end(comm, true))
NULLGPU_ANSWER(ncclCommAbort, (ncclComm_t comm), end(comm, false))
NULLGPU_ANSWER(ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t* error),
               static_cast<void>(place(error, "the error") = the(comm).state()))
NULLGPU_ANSWER(ncclCommCount, (const ncclComm_t comm, int* count), give(count, the(comm).ranks()))
NULLGPU_ANSWER(ncclCommCuDevice, (const ncclComm_t comm, int* device), give(device, the(comm).card()))
NULLGPU_ANSWER(ncclCommUserRank, (const ncclComm_t comm, int* rank), give(rank, the(comm).rank()))

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  return answered([&] {
    const Description what = describe(Kind::AllReduce, 1, type);
    if (!op || !scalar) throw Failure(ncclInvalidArgument, "no factor");
    Factor factor;
    if (residence == ncclScalarDevice) {
      factor.address = scalar;
    } else {
      memcpy(factor.value.data(), scalar, sizeOf(what.type));
    }
    *op = static_cast<ncclRedOp_t>(the(comm).keep(factor));
  });
}

NULLGPU_ANSWER(ncclRedOpDestroy, (ncclRedOp_t op, ncclComm_t comm), the(comm).forget(op))
NULLGPU_COLLECTIVE(ncclAllReduce, Kind::AllReduce, op, 0, ncclRedOp_t op, )
NULLGPU_COLLECTIVE(ncclReduce, Kind::Reduce, op, root, ncclRedOp_t op, int root, )
NULLGPU_COLLECTIVE(ncclReduceScatter, Kind::ReduceScatter, op, 0, ncclRedOp_t op, )
NULLGPU_COLLECTIVE(ncclAllGather, Kind::AllGather, ncclSum, 0, )
NULLGPU_COLLECTIVE(ncclAlltoAll, Kind::AllToAll, ncclSum, 0, )
NULLGPU_COLLECTIVE(ncclBroadcast, Kind::Broadcast, ncclSum, root, int root, )

ncclResult_t ncclBcast(void* values, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return ncclBroadcast(values, values, count, type, root, comm, stream);
}

NULLGPU_ANSWER(
    ncclSend, (const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream),
    call(comm, stream,
         {.what = describe(Kind::Message, count, type), .send = send, .peer = unsigned(peer), .sends = true}))
NULLGPU_ANSWER(ncclRecv,
               (void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream),
               call(comm, stream,
                    {.what = describe(Kind::Message, count, type), .receive = receive, .peer = unsigned(peer)}))

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

NULLGPU_ANSWER(ncclGroupEnd, (), endGroup())
NULLGPU_ANSWER(ncclMemAlloc, (void** address, size_t bytes), expect(cudaMalloc(address, bytes)))
NULLGPU_ANSWER(ncclMemFree, (void* address), expect(cudaFree(address)))

/// Registration changes nothing here: buffers are reached in the same way.
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* address, size_t, void** handle) {
  return answered([&] {
    the(comm);
    *handle = address;
  });
}

NULLGPU_ANSWER(ncclCommDeregister, (const ncclComm_t comm, void*), static_cast<void>(the(comm)))

}  // extern "C"
