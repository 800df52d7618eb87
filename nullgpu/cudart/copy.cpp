// Copies and sets, and the variables of a program's CUDA code, which are copied to and from.

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

/// `height` rows of `width` bytes; a row begins `pitch` bytes behind the one before.
struct Rows {
  size_t width = 0, height = 1;
  size_t to_pitch = 0, from_pitch = 0;
};

struct CopyCall {
  void* to = nullptr;
  const void* from = nullptr;
  Rows rows;
  cudaMemcpyKind kind = cudaMemcpyDefault;
  cudaStream_t stream = nullptr;
  bool blocking = false;  // cudaMemcpy and not cudaMemcpyAsync
};

constexpr size_t kStaged = size_t{64} << 10;  // more of pageable memory is not taken before the stream comes to it

/// Bytes from the first row's beginning to the last one's end.
size_t span(const Rows& rows, size_t pitch) { return rows.height == 0 ? 0 : (rows.height - 1) * pitch + rows.width; }
size_t total(const Rows& rows) { return rows.width * rows.height; }
bool isDropped(size_t bytes) { return configuration().drop && bytes > *configuration().drop; }

struct Side {
  std::optional<unsigned> card;
  bool pinned = false;

  bool isPageable() const { return !card && !pinned; }
};

Side sideOf(const void* address, size_t bytes) {
  if (const auto card = cardOf(address)) return {card, false};
  return {std::nullopt, hostRange(address, bytes).has_value()};
}

/// Whether all bytes of a card's side are in one allocation.
bool isWithin(const Side& side, const void* address, size_t bytes) {
  if (!side.card) return true;
  const Allocation around = allocationOf(address);
  return around.begin && static_cast<const char*>(address) + bytes <= around.begin + around.bytes;
}

/// What cards can reach counts as a card's memory, too.
bool fits(cudaMemcpyKind kind, const Side& to, const Side& from) {
  if (kind == cudaMemcpyDefault) return true;
  const auto is = [](const Side& side, bool host) { return host ? !side.card : side.card || side.pinned; };
  const bool to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
  const bool from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
  return (to_host || from_host || kind == cudaMemcpyDeviceToDevice) && is(to, to_host) && is(from, from_host);
}

class Copy final : public Operation {
 public:
  Copy(const CopyCall& call, const Side& to, const Side& from) : call_(call), to_(to), from_(from) {
    activity_.work = !from.card               ? Work::HostToDevice
                     : !to.card               ? Work::DeviceToHost
                     : *to.card == *from.card ? Work::DeviceToDevice
                                              : Work::PeerToPeer;
    if (from.card) activity_.peer = *from.card;
    activity_.bytes = total(call.rows);
    activity_.pinned = !to.isPageable() && !from.isPageable();
  }

  std::unique_ptr<HostGuard> guard() const override {
    if (to_.card && from_.pinned)
      return std::make_unique<HostGuard>(call_.from, span(call_.rows, call_.rows.from_pitch), HostGuard::Side::Read,
                                         *to_.card);
    if (from_.card && to_.pinned)
      return std::make_unique<HostGuard>(call_.to, span(call_.rows, call_.rows.to_pitch), HostGuard::Side::Written,
                                         *from_.card);
    return nullptr;
  }
  void watch() { guard_ = guard(); }

  /// Takes the content of pageable memory.
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

/// Content of pageable memory is taken before the call returns: a little is put aside, more is awaited.
cudaError_t copyFromPageable(const CopyCall& call, const std::shared_ptr<Copy>& operation) {
  if (total(call.rows) > kStaged) return finish(queue(call.stream, operation));
  if (call.blocking)
    if (const cudaError_t error = synchronize(call.stream)) return error;
  operation->stage();
  return enqueue(call.stream, operation);
}

/// Waits for as much as CUDA says that a copy of this kind waits for.
/// @returns cudaErrorInvalidValue where the kind or the bytes are not those of the memory.
cudaError_t copy(const CopyCall& call) {
  const Rows& rows = call.rows;
  if (total(rows) == 0) return cudaSuccess;
  if (!call.to || !call.from) return cudaErrorInvalidValue;
  if (rows.width > rows.to_pitch || rows.width > rows.from_pitch) return cudaErrorInvalidPitchValue;
  const size_t to_span = span(rows, rows.to_pitch), from_span = span(rows, rows.from_pitch);
  const Side to = sideOf(call.to, to_span), from = sideOf(call.from, from_span);
  if (!fits(call.kind, to, from)) return cudaErrorInvalidValue;
  if (!isWithin(to, call.to, to_span) || !isWithin(from, call.from, from_span)) return cudaErrorInvalidValue;
  if (call.blocking)
    if (const cudaError_t error = refuseUnsafeCall()) return error;
  const auto operation = std::make_shared<Copy>(call, to, from);
  if (isCaptured(call.stream)) return enqueue(call.stream, operation);
  if (to.card && from.card) return enqueue(call.stream, operation);
  if (to.card && from.isPageable()) return copyFromPageable(call, operation);
  operation->watch();
  const Ticket ticket = queue(call.stream, operation);
  const bool waits = call.blocking || to.isPageable() || !from.card == !to.card;
  return waits ? finish(ticket) : ticket.error;
}

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

Rows row(size_t bytes) { return {bytes, 1, bytes, bytes}; }

struct Symbol {
  size_t bytes = 0;
  std::map<unsigned, void*> places;  // by card
};

std::mutex symbols_mutex;

std::unordered_map<const void*, Symbol>& symbols() {
  static auto* all = new std::unordered_map<const void*, Symbol>;
  return *all;
}

/// Where such a variable lies on the current card, `offset` bytes into it. Its memory is taken when it is asked for
/// first.
/// @returns cudaErrorInvalidSymbol for what was never registered, cudaErrorInvalidValue where `bytes` reach beyond it.
cudaError_t addressOfSymbol(const void* symbol, size_t offset, size_t bytes, void** address) {
  const std::lock_guard lock(symbols_mutex);
  const auto found = symbols().find(symbol);
  if (found == symbols().end()) return cudaErrorInvalidSymbol;
  Symbol& known = found->second;
  if (offset > known.bytes || bytes > known.bytes - offset) return cudaErrorInvalidValue;
  void*& place = known.places[currentCard()];
  if (!place)
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
/// CUDA's word for the sides of a copy between cards says nothing that the addresses do not.
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

void __cudaRegisterVar(void**, char* variable, char*, const char*, int, size_t bytes, int, int) {
  const std::lock_guard lock(symbols_mutex);
  symbols()[variable].bytes = bytes;
}

}  // extern "C"
