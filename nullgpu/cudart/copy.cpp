// Copies, sets, and the __device__ variables of a program (symbols). Three questions decide how a
// copy behaves: on which side is a card, is the host's side page-locked or pageable, and does the
// call block. CUDA's answers ("API synchronization behavior" in its runtime reference) are followed
// exactly, because a program may rely on a wait that the reference promises, and break where it
// promises none.

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "nullgpu/core/capture.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/host_memory.h"
#include "nullgpu/core/memory.h"
#include "nullgpu/core/stream.h"
#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

/// A block of memory: `height` rows of `width` bytes. A row begins `pitch` bytes after the previous
/// one.
struct Rows {
  size_t width = 0, height = 1;
  size_t to_pitch = 0, from_pitch = 0;
};

/// The arguments of a copy.
struct CopyCall {
  void* to = nullptr;
  const void* from = nullptr;
  Rows rows;
  cudaMemcpyKind kind = cudaMemcpyDefault;
  cudaStream_t stream = nullptr;
  bool blocking = false;  // cudaMemcpy rather than cudaMemcpyAsync
};

/// Bytes of pageable memory that a call copies aside; for more it waits until the stream has read
/// them.
constexpr size_t kStaged = size_t{64} << 10;

/// Bytes from the beginning of the first row to the end of the last.
size_t span(const Rows& rows, size_t pitch) { return rows.height == 0 ? 0 : (rows.height - 1) * pitch + rows.width; }
/// Bytes that are copied.
size_t total(const Rows& rows) { return rows.width * rows.height; }
/// Whether NULLGPU_DROP leaves out the content.
bool isDropped(size_t bytes) { return configuration().drop && bytes > *configuration().drop; }

/// The memory on one side of a copy: a card's, page-locked or pageable.
struct Side {
  std::optional<unsigned> card;
  bool pinned = false;

  bool isPageable() const { return !card && !pinned; }
};

/// Looks `address` up. Host memory is page-locked only if all `bytes` are.
Side sideOf(const void* address, size_t bytes) {
  if (const auto card = cardOf(address)) return {card, false};
  return {std::nullopt, hostRange(address, bytes).has_value()};
}

/// Whether all bytes lie in one allocation, if this side is a card's.
bool isWithin(const Side& side, const void* address, size_t bytes) {
  if (!side.card) return true;
  const Allocation around = allocationOf(address);
  return around.begin && static_cast<const char*>(address) + bytes <= around.begin + around.bytes;
}

/// Whether the memory matches the kind that the caller names. Page-locked memory passes for a
/// card's, which can reach it.
bool fits(cudaMemcpyKind kind, const Side& to, const Side& from) {
  if (kind == cudaMemcpyDefault) return true;
  const auto is = [](const Side& side, bool host) { return host ? !side.card : side.card || side.pinned; };
  const bool to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
  const bool from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
  return (to_host || from_host || kind == cudaMemcpyDeviceToDevice) && is(to, to_host) && is(from, from_host);
}

/// A queued copy. It decides nothing about waiting; copy() below does.
class Copy final : public Operation {
 public:
  Copy(const CopyCall& call, const Side& to, const Side& from) : call_(call), to_(to), from_(from) {
    // Copies that involve no card are done as well, but nobody is told of them: see activity().
    activity_.work = !from.card               ? Work::HostToDevice
                     : !to.card               ? Work::DeviceToHost
                     : *to.card == *from.card ? Work::DeviceToDevice
                                              : Work::PeerToPeer;
    if (from.card) activity_.peer = *from.card;
    activity_.bytes = total(call.rows);
    activity_.pinned = !to.isPageable() && !from.isPageable();
  }

  std::unique_ptr<HostGuard> guard() const override {
    // Only page-locked memory is guarded. Pageable memory is read before the call returns.
    if (to_.card && from_.pinned)
      return std::make_unique<HostGuard>(call_.from, span(call_.rows, call_.rows.from_pitch), HostGuard::Side::Read,
                                         *to_.card);
    if (from_.card && to_.pinned)
      return std::make_unique<HostGuard>(call_.to, span(call_.rows, call_.rows.to_pitch), HostGuard::Side::Written,
                                         *from_.card);
    return nullptr;
  }
  /// Starts to guard the host's buffer. Called right before queueing.
  void watch() { guard_ = guard(); }

  /// Copies the content of pageable memory aside, so that the program may change it after the call.
  void stage() {
    const Rows& rows = call_.rows;
    staged_.resize(total(rows));
    for (size_t row = 0; row < rows.height; ++row)
      std::memcpy(staged_.data() + row * rows.width, static_cast<const char*>(call_.from) + row * rows.from_pitch,
                  rows.width);
    call_.from = staged_.data();
    call_.rows.from_pitch = rows.width;
  }

  bool advance() override {
    if (guard_) guard_->check();
    const Rows& rows = call_.rows;
    const bool drop = isDropped(total(rows));
    auto* to = static_cast<char*>(call_.to);
    const auto* from = static_cast<const char*>(call_.from);
    // Rows without gaps are one block.
    if (rows.width == rows.to_pitch && rows.width == rows.from_pitch) {
      move(to, from, total(rows), drop);
    } else {
      for (size_t row = 0; row < rows.height; ++row, to += rows.to_pitch, from += rows.from_pitch)
        move(to, from, rows.width, drop);
    }
    guard_.reset();
    return true;
  }
  Activity* activity() override { return to_.card || from_.card ? &activity_ : nullptr; }

 private:
  void move(char* to, const char* from, size_t bytes, bool drop) const {
    // A dropped copy leaves a card's memory as it is; on the way to the host, zeros stand for the
    // content.
    if (to_.card && drop) return;
    if (to_.card && from_.card) return copyBetweenCards(to, from, bytes);
    if (to_.card) {
      writeCard(to, from, bytes);
    } else if (!from_.card) {
      std::memmove(to, from, bytes);
    } else if (drop) {
      std::memset(to, 0, bytes);
    } else {
      readCard(to, from, bytes);
    }
  }

  CopyCall call_;
  Side to_, from_;
  Activity activity_;
  std::unique_ptr<HostGuard> guard_;
  std::vector<char> staged_;
};

/// CUDA promises that pageable memory can be changed after the call. A small copy is put aside; for
/// a large one the call waits until the stream has read it.
cudaError_t copyFromPageable(const CopyCall& call, const std::shared_ptr<Copy>& operation) {
  if (total(call.rows) > kStaged) return finish(queue(call.stream, operation));
  // A blocking copy is ordered behind the stream, so the content is taken only after it.
  if (call.blocking)
    if (const cudaError_t error = synchronize(call.stream)) return error;
  operation->stage();
  return enqueue(call.stream, operation);
}

/// Checks a copy, queues it, and waits as long as CUDA says for this kind of copy.
/// @returns cudaErrorInvalidValue if the kind does not match the memory or the bytes exceed an
/// allocation, cudaErrorInvalidPitchValue if rows overlap
cudaError_t copy(const CopyCall& call) {
  const Rows& rows = call.rows;
  if (total(rows) == 0) return cudaSuccess;
  if (!call.to || !call.from) return cudaErrorInvalidValue;
  if (rows.width > rows.to_pitch || rows.width > rows.from_pitch) return cudaErrorInvalidPitchValue;
  const size_t to_span = span(rows, rows.to_pitch), from_span = span(rows, rows.from_pitch);
  const Side to = sideOf(call.to, to_span), from = sideOf(call.from, from_span);
  if (!fits(call.kind, to, from)) return cudaErrorInvalidValue;
  if (!isWithin(to, call.to, to_span) || !isWithin(from, call.from, from_span)) return cudaErrorInvalidValue;
  // A call that may wait is forbidden during captures, whatever it would really do.
  if (call.blocking)
    if (const cudaError_t error = refuseUnsafeCall()) return error;
  const auto operation = std::make_shared<Copy>(call, to, from);
  // A captured copy reads its source anew at each launch, so nothing is put aside or guarded now.
  if (isCaptured(call.stream)) return enqueue(call.stream, operation);
  if (to.card && from.card) return enqueue(call.stream, operation);
  if (to.card && from.isPageable()) return copyFromPageable(call, operation);
  operation->watch();
  const Ticket ticket = queue(call.stream, operation);
  // The host waits for blocking copies, for copies to pageable memory, and for copies from host to
  // host. A copy between cards has returned above: CUDA lets the host wait for none of these.
  const bool waits = call.blocking || to.isPageable() || !from.card == !to.card;
  return waits ? finish(ticket) : ticket.error;
}

/// Sets memory of a card or page-locked memory. Only a blocking set of the host's memory waits, as
/// in CUDA.
cudaError_t set(void* to, int value, size_t bytes, cudaStream_t stream, bool blocking) {
  if (bytes == 0) return cudaSuccess;
  if (!to) return cudaErrorInvalidValue;
  const Side side = sideOf(to, bytes);
  if (side.isPageable() || !isWithin(side, to, bytes)) return cudaErrorInvalidValue;
  if (blocking)
    if (const cudaError_t error = refuseUnsafeCall()) return error;
  const auto fill = [=, on_card = side.card.has_value()] {
    if (!on_card)
      std::memset(to, value, bytes);
    else if (!isDropped(bytes))
      setCard(to, value, bytes);
    return true;
  };
  const Activity told{.work = Work::Set, .name = {}, .bytes = bytes};
  const Ticket ticket = queue(stream, std::make_shared<FunctionOperation>(fill, told));
  return blocking && side.pinned ? finish(ticket) : ticket.error;
}

/// A copy of one row.
Rows row(size_t bytes) { return {bytes, 1, bytes, bytes}; }

/// A __device__ or __constant__ variable of the program.
struct Symbol {
  size_t bytes = 0;
  /// Its memory on each card that has used it.
  std::map<unsigned, void*> places;
};

/// The program's code registers variables before main(), from several libraries perhaps.
std::mutex symbols_mutex;

/// Symbols by the address of the host's shadow of the variable.
std::unordered_map<const void*, Symbol>& symbols() {
  static auto* all = new std::unordered_map<const void*, Symbol>;
  return *all;
}

/// The address of a variable on the current card, `offset` bytes into it. Its memory is allocated
/// at the first use.
/// @returns cudaErrorInvalidSymbol if it was never registered, cudaErrorInvalidValue if `bytes`
/// reach beyond it
cudaError_t addressOfSymbol(const void* symbol, size_t offset, size_t bytes, void** address) {
  const std::lock_guard lock(symbols_mutex);
  const auto found = symbols().find(symbol);
  if (found == symbols().end()) return cudaErrorInvalidSymbol;
  Symbol& known = found->second;
  if (offset > known.bytes || bytes > known.bytes - offset) return cudaErrorInvalidValue;
  void*& place = known.places[currentCard()];
  if (!place)
    // Variables of a program's code are no allocations of the program, so faults on demand leave
    // them alone.
    if (const cudaError_t error = allocateQuietly(currentCard(), known.bytes, &place)) return error;
  *address = static_cast<char*>(place) + offset;
  return cudaSuccess;
}

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

extern "C" {

NULLGPU_CALL(cudaMemcpy, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
             copy({to, from, row(bytes), kind, nullptr, true}))
NULLGPU_CALL(cudaMemcpyAsync, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
             copy({to, from, row(bytes), kind, stream, false}))
/// The numbers of the cards are ignored: the addresses already say on which card the memory is.
NULLGPU_CALL(cudaMemcpyPeerAsync, (void* to, int, const void* from, int, size_t bytes, cudaStream_t stream),
             copy({to, from, row(bytes), cudaMemcpyDefault, stream, false}))
NULLGPU_CALL(cudaMemcpy2D,
             (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
              cudaMemcpyKind kind),
             copy({to, from, {width, height, to_pitch, from_pitch}, kind, nullptr, true}))
NULLGPU_CALL(cudaMemcpy2DAsync,
             (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
              cudaMemcpyKind kind, cudaStream_t stream),
             copy({to, from, {width, height, to_pitch, from_pitch}, kind, stream, false}))
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return call("cudaMemcpyToSymbol", [&] {
    void* to = nullptr;
    const cudaError_t error = addressOfSymbol(symbol, offset, bytes, &to);
    return error ? error : copy({to, from, row(bytes), kind, nullptr, true});
  });
}

NULLGPU_CALL(cudaMemset, (void* to, int value, size_t bytes), set(to, value, bytes, nullptr, true))
NULLGPU_CALL(cudaMemsetAsync, (void* to, int value, size_t bytes, cudaStream_t stream),
             set(to, value, bytes, stream, false))

NULLGPU_CALL(cudaGetSymbolAddress, (void** address, const void* symbol),
             address ? addressOfSymbol(symbol, 0, 0, address) : cudaErrorInvalidValue)

/// Called by code that nvcc generates, when a library with CUDA code is loaded.
void __cudaRegisterVar(void**, char* variable, char*, const char*, int, size_t bytes, int, int) {
  const std::lock_guard lock(symbols_mutex);
  symbols()[variable].bytes = bytes;
}

}  // extern "C"
