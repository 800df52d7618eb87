#pragma once

// What a rank asks of a communicator, what it tells the others of that, and why it cannot be done.

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace nullgpu::nccl {

enum class Kind : uint8_t { AllReduce, Reduce, ReduceScatter, AllGather, Broadcast, AllToAll, Message };

bool reduces(Kind kind);

/// What the ranks compare before they move anything. Lies in memory that processes share.
struct Description {
  Kind kind = Kind::AllReduce;
  uint8_t type = ncclInt8;      // ncclDataType_t
  uint8_t reduction = ncclSum;  // ncclRedOp_t; kScaledSum for all that ncclRedOpCreatePreMulSum made
  bool moves = true;            // false: NULLGPU_DROP leaves the content out; no difference between ranks
  int32_t root = 0;
  uint64_t count = 0;  // as NCCL's functions take it

  bool agrees(const Description& other) const;
};

inline constexpr uint8_t kScaledSum = ncclNumOps;

/// The factor of a reduction that ncclRedOpCreatePreMulSum made: here, or in a card's memory until it is used.
struct Factor {
  const void* address = nullptr;
  std::array<std::byte, 8> value{};
};

struct Call {
  Description what;
  const void* send = nullptr;
  void* receive = nullptr;
  Factor factor{};
  // Of a message.
  unsigned peer = 0;
  bool sends = false;
};

/// Bytes of an element.
size_t sizeOf(uint8_t type);

/// "AllReduce of 1024 x float32 (sum)".
std::string words(const Description& what);
/// "1024 x float32".
std::string amount(const Description& what);

/// "all_reduce": as collectives are counted. Static storage.
std::string_view countedName(Kind kind);

/// The kernel in which NCCL would do it, as CUPTI names it. Static storage.
std::string_view kernelName(const Description& what);

/// Of the larger of a rank's two buffers.
uint64_t bytesOf(const Description& what, unsigned ranks);

/// A call that cannot be done: what it answers, and what ncclGetLastError says then.
class Failure : public std::runtime_error {
 public:
  Failure(ncclResult_t answer, const std::string& text) : std::runtime_error(text), answer(answer) {}
  const ncclResult_t answer;
};

/// Throws the Failure with which NCCL answers an error of the runtime, unless there is none.
void expect(cudaError_t error);

/// Keeps `text` for ncclGetLastError.
void rememberError(const std::string& text);
/// The text kept last, in any thread; valid until this thread asks again.
const char* lastError();

}  // namespace nullgpu::nccl
