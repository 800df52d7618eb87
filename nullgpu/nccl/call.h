#pragma once

// Descriptions of collectives and messages: what a rank asks of a communicator, what it shows the
// other ranks of that, and the errors with which calls fail.

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "nullgpu/core/words.h"

namespace nullgpu::nccl {

/// The kinds of operations. Message is one send or receive. The values index the tables in
/// call.cpp.
enum class Kind : uint8_t { AllReduce, Reduce, ReduceScatter, AllGather, Broadcast, AllToAll, Message };

/// Whether a collective of this kind combines values.
bool reduces(Kind kind);

/// The part of a call that all ranks must agree on. They compare it before they move anything. It
/// lies in memory that processes share, so it holds no pointers.
struct Description {
  Kind kind = Kind::AllReduce;
  uint8_t type = ncclInt8;  // ncclDataType_t
  /// ncclRedOp_t; kScaledSum for all reductions of ncclRedOpCreatePreMulSum.
  uint8_t reduction = ncclSum;
  /// False if NULLGPU_DROP leaves the content out on this rank; ranks need not agree on it.
  bool moves = true;
  int32_t root = 0;
  uint64_t count = 0;  // number of elements, as the NCCL function takes it

  /// Whether both ranks call the same operation.
  bool agrees(const Description& other) const;
};

/// Stands for every reduction that scales its input; each rank may have its own factor.
inline constexpr uint8_t kScaledSum = ncclNumOps;

/// The factor of a scaled sum: a value here, or an address in a card's memory that is read when it
/// is used.
struct Factor {
  const void* address = nullptr;
  std::array<std::byte, 8> value{};
};

/// A call of a rank.
struct Call {
  Description what;
  const void* send = nullptr;
  void* receive = nullptr;
  Factor factor{};
  // For messages only: the other rank, and the direction.
  unsigned peer = 0;
  bool sends = false;
};

/// Bytes of an element of `type`.
size_t sizeOf(uint8_t type);

/// In words, for errors: "AllReduce of 1024 x float32 (sum)".
std::string words(const Description& what);
/// The amount in words: "1024 x float32".
std::string amount(const Description& what);

/// The name under which a collective is counted, such as "all_reduce" (counters_api.h). Static
/// storage.
std::string_view countedName(Kind kind);

/// The kernel that NCCL would launch, by its mangled name as CUPTI reports it. Static storage.
std::string_view kernelName(const Description& what);

/// Bytes of the larger of a rank's two buffers.
uint64_t bytesOf(const Description& what, unsigned ranks);

/// A call that cannot be done: the code that it returns, and the text for ncclGetLastError.
class Failure : public std::runtime_error {
 public:
  template <typename... Parts>
  Failure(ncclResult_t answer, const Parts&... text) : std::runtime_error(joined(text...)), answer(answer) {}
  const ncclResult_t answer;
};

/// Throws the Failure that NCCL returns for an error of the runtime; does nothing for cudaSuccess.
void expect(cudaError_t error);

/// Keeps `text` for ncclGetLastError. Thread-safe.
void rememberError(const std::string& text);
/// The text kept last by any thread; valid until the calling thread asks again.
const char* lastError();

}  // namespace nullgpu::nccl
