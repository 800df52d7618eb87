// The listener (core/activity.h) that turns calls and work into CUPTI's records, for the kinds that
// a profiler has enabled. It is attached only while something is enabled. Work is reported by the
// device's thread and calls by the program's threads, so records of one correlation arrive out of
// order, as with real CUPTI.

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "nullgpu/core/activity.h"
#include "nullgpu/cupti/call.h"

namespace nullgpu::cupti {
namespace {

/// The number that CUPTI gives the default stream; others follow.
constexpr uint32_t kDefaultStream = 7;

/// A copy of `name` that ends with a zero and stays for ever: records only point to names.
const char* kept(std::string_view name) {
  static auto& mutex = *new std::mutex;
  static auto& names = *new std::set<std::string, std::less<>>;
  const std::lock_guard lock(mutex);
  auto found = names.find(name);
  if (found == names.end()) found = names.emplace(name).first;
  return found->c_str();
}

/// A moment on both clocks, ours and the profiler's.
struct Pair {
  uint64_t ours = 0, theirs = 0;
};

/// Protects the profiler's clock and the first reading of both.
std::mutex clock_mutex;
/// The profiler's clock; null if records use ours.
CUpti_TimestampCallbackFunc callers = nullptr;
Pair first;

Pair both() { return {now(), callers()}; }

/// Converts a moment of now() to the clock of records. The profiler may bring a clock of any unit
/// (Kineto counts cycles), so its pace is measured from when it was registered until now.
uint64_t recordTime(uint64_t moment) {
  const std::lock_guard lock(clock_mutex);
  if (!callers) return moment;
  const Pair last = both();
  if (last.ours <= first.ours) return first.theirs;
  const double pace = double(last.theirs - first.theirs) / double(last.ours - first.ours);
  // Extrapolate back from the present and not forward from the registration: the event is recent,
  // so the error of the pace hardly counts.
  const double back = double(int64_t(last.ours - moment)) * pace;
  return last.theirs - uint64_t(int64_t(back));
}

/// The fields that records of all kinds of work share.
template <typename Record>
Record begun(const Activity& activity, CUpti_ActivityKind kind) {
  Record record{};
  record.kind = kind;
  record.start = recordTime(activity.begin);
  record.end = recordTime(activity.end);
  // The measured pace varies a little between both conversions.
  if (record.end < record.start) record.end = record.start;
  record.deviceId = activity.card;
  record.contextId = activity.card + 1;
  record.streamId = activity.stream + kDefaultStream;
  record.correlationId = activity.correlation;
  return record;
}

// The conversions below fill the fields that a null card can fill; the rest stays zero. A profiler for CUDA 12 reads
// an older form of these records, which CUDA 13 only extends: in padding, or behind its end.
static_assert(offsetof(CUpti_ActivityKernel10, isDeviceLaunched) == sizeof(CUpti_ActivityKernel9));
static_assert(offsetof(CUpti_ActivityMemcpy6, isDeviceLaunched) == offsetof(CUpti_ActivityMemcpy5, pad2));
static_assert(sizeof(CUpti_ActivityMemcpyPtoP4) == 96 && sizeof(CUpti_ActivityMemset4) == 88);

CUpti_ActivityKernel10 kernelRecord(const Activity& activity, CUpti_ActivityKind kind) {
  auto record = begun<CUpti_ActivityKernel10>(activity, kind);
  record.completed = record.end;
  record.name = kept(activity.name);
  record.gridX = record.gridY = record.gridZ = 1;
  record.blockX = record.blockY = record.blockZ = 1;
  return record;
}

/// A copy between host and card, or within a card.
CUpti_ActivityMemcpy6 copyRecord(const Activity& activity) {
  auto record = begun<CUpti_ActivityMemcpy6>(activity, CUPTI_ACTIVITY_KIND_MEMCPY);
  constexpr uint8_t kDevice = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  const uint8_t host = activity.pinned ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED : CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  const bool from_host = activity.work == Work::HostToDevice, to_host = activity.work == Work::DeviceToHost;
  record.copyKind = from_host ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                    : to_host ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
                              : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
  record.srcKind = from_host ? host : kDevice;
  record.dstKind = to_host ? host : kDevice;
  record.bytes = activity.bytes;
  record.copyCount = 1;
  return record;
}

CUpti_ActivityMemcpyPtoP4 peerCopyRecord(const Activity& activity) {
  auto record = begun<CUpti_ActivityMemcpyPtoP4>(activity, CUPTI_ACTIVITY_KIND_MEMCPY2);
  record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  record.srcKind = record.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.bytes = activity.bytes;
  record.srcDeviceId = activity.peer;
  record.srcContextId = activity.peer + 1;
  record.dstDeviceId = record.deviceId;
  record.dstContextId = record.contextId;
  return record;
}

CUpti_ActivityMemset4 setRecord(const Activity& activity) {
  auto record = begun<CUpti_ActivityMemset4>(activity, CUPTI_ACTIVITY_KIND_MEMSET);
  record.bytes = activity.bytes;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  return record;
}

/// Must run on the thread that made the call, whose id it records.
CUpti_ActivityAPI callRecord(const Call& call, const Callback& callback) {
  CUpti_ActivityAPI record{};
  record.kind =
      callback.domain == CUPTI_CB_DOMAIN_RUNTIME_API ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  record.cbid = callback.number;
  record.start = recordTime(call.begin);
  record.end = recordTime(call.end);
  if (record.end < record.start) record.end = record.start;
  record.processId = uint32_t(getpid());
  record.threadId = uint32_t(pthread_self());  // CUPTI's default way to number threads
  record.correlationId = call.correlation;
  return record;
}

/// External correlation ids, by kind: a profiler pushes the number of its own operation before it
/// calls CUDA, and the record of the call refers to the top.
thread_local std::array<std::vector<uint64_t>, CUPTI_EXTERNAL_CORRELATION_KIND_SIZE> stacks;

bool isKind(CUpti_ExternalCorrelationKind kind) {
  return kind > CUPTI_EXTERNAL_CORRELATION_KIND_INVALID && kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE;
}

using Flags = std::vector<std::atomic<bool>>;

/// Flags for each kind of record and each function that the profiler has enabled. Never destroyed.
struct Asked {
  /// Held while something is turned on or off. Reports read the flags without it.
  std::mutex mutex;
  Flags kinds = Flags(CUPTI_ACTIVITY_KIND_COUNT);
  // Indexed by CUPTI's number of a function.
  Flags runtime = Flags(CUPTI_RUNTIME_TRACE_CBID_SIZE), driver = Flags(CUPTI_DRIVER_TRACE_CBID_SIZE);
};
Asked& asked = *new Asked;

bool asks(CUpti_ActivityKind kind) { return asked.kinds[kind].load(std::memory_order_relaxed); }

void setAll(Flags& flags, bool on) {
  for (auto& flag : flags) flag = on;
}

class Recorder final : public Listener {
  void happened(const Activity& activity) override {
    switch (activity.work) {
      case Work::Kernel:
        // A profiler enables one of the two kinds of kernel records (enable() refuses both).
        for (const auto kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL})
          if (asks(kind)) return add(kernelRecord(activity, kind));
        return;
      case Work::PeerToPeer:
        if (asks(CUPTI_ACTIVITY_KIND_MEMCPY2)) add(peerCopyRecord(activity));
        return;
      case Work::Set:
        if (asks(CUPTI_ACTIVITY_KIND_MEMSET)) add(setRecord(activity));
        return;
      case Work::HostToDevice:
      case Work::DeviceToHost:
      case Work::DeviceToDevice:
        if (asks(CUPTI_ACTIVITY_KIND_MEMCPY)) add(copyRecord(activity));
        return;
    }
  }

  void happened(const Call& call) override {
    const auto callback = callbackOf(call.name);
    if (!callback) return;
    if (!(callback->domain == CUPTI_CB_DOMAIN_RUNTIME_API ? asked.runtime : asked.driver)[callback->number]) return;
    if (asks(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
      // CUPTI writes these before the record of the call.
      for (size_t kind = 0; kind < stacks.size(); ++kind)
        if (!stacks[kind].empty())
          add(CUpti_ActivityExternalCorrelation{.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                                .externalKind = static_cast<CUpti_ExternalCorrelationKind>(kind),
                                                .externalId = stacks[kind].back(),
                                                .correlationId = call.correlation,
                                                .reserved = 0});
    }
    add(callRecord(call, *callback));
  }
};

/// Attaches the recorder while anything is enabled, and detaches it otherwise. Called under
/// `asked.mutex`.
void listenIfAsked() {
  static Listener& recorder = *new Recorder;
  bool any = false;
  for (const Flags* flags : {&asked.kinds, &asked.runtime, &asked.driver})
    any = any || std::ranges::any_of(*flags, [](const auto& flag) { return flag.load(); });
  listen(any ? &recorder : nullptr);
}

CUptiResult enable(CUpti_ActivityKind kind, bool on) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT) return CUPTI_ERROR_INVALID_KIND;
  const std::lock_guard lock(asked.mutex);
  // Serialised and concurrent kernel records exclude each other, as in CUPTI.
  constexpr auto kSerial = CUPTI_ACTIVITY_KIND_KERNEL, kConcurrent = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  if (on && ((kind == kSerial && asks(kConcurrent)) || (kind == kConcurrent && asks(kSerial))))
    return CUPTI_ERROR_NOT_COMPATIBLE;
  asked.kinds[kind] = on;
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) setAll(asked.runtime, on);
  if (kind == CUPTI_ACTIVITY_KIND_DRIVER) setAll(asked.driver, on);
  listenIfAsked();
  return CUPTI_SUCCESS;
}

/// Enables or disables one function of the runtime or the driver.
CUptiResult enable(Flags& calls, CUpti_CallbackId function, bool on) {
  if (function == 0 || function >= calls.size()) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(asked.mutex);
  calls[function] = on;
  listenIfAsked();
  return CUPTI_SUCCESS;
}

}  // namespace

void disableAll() {
  const std::lock_guard lock(asked.mutex);
  for (Flags* flags : {&asked.kinds, &asked.runtime, &asked.driver}) setAll(*flags, false);
  listenIfAsked();
}

}  // namespace nullgpu::cupti

using namespace nullgpu::cupti;

extern "C" {

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const CUptiResult result = availability();
  return result == CUPTI_SUCCESS ? enable(kind, true) : result;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) { return enable(kind, false); }

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId function, uint8_t on) {
  return enable(asked.runtime, function, on != 0);
}
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId function, uint8_t on) {
  return enable(asked.driver, function, on != 0);
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  if (!clock) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(clock_mutex);
  callers = clock;
  first = both();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (!isKind(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
  stacks[kind].push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* id) {
  if (!isKind(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
  auto& stack = stacks[kind];
  if (stack.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (id) *id = stack.back();
  stack.pop_back();
  return CUPTI_SUCCESS;
}

}  // extern "C"
