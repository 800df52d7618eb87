#include "nullgpu/cupti/records.h"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <string>

namespace nullgpu::cupti {
namespace {

constexpr uint32_t kDefaultStream = 7;  // as CUPTI numbers it

/// Records point to names that end with a zero and stay.
const char* kept(std::string_view name) {
  static auto& mutex = *new std::mutex;
  static auto& names = *new std::set<std::string, std::less<>>;
  const std::lock_guard lock(mutex);
  auto found = names.find(name);
  if (found == names.end()) found = names.emplace(name).first;
  return found->c_str();
}

struct Pair {
  uint64_t ours = 0, theirs = 0;
};

std::mutex clock_mutex;
CUpti_TimestampCallbackFunc callers = nullptr;
Pair first;

Pair both() { return {now(), callers()}; }

/// A moment of nullgpu::now() on the clock of records: what the caller's clock showed then, by its pace since
/// setClock().
uint64_t recordTime(uint64_t moment) {
  const std::lock_guard lock(clock_mutex);
  if (!callers) return moment;
  const Pair last = both();
  if (last.ours <= first.ours) return first.theirs;
  const double pace = static_cast<double>(last.theirs - first.theirs) / static_cast<double>(last.ours - first.ours);
  // Behind the last: what is told has just happened, and over a short way the pace's error is small.
  const double back = static_cast<double>(static_cast<int64_t>(last.ours - moment)) * pace;
  return last.theirs - static_cast<uint64_t>(static_cast<int64_t>(back));
}

/// Fields that all kinds of work share.
template <typename Record>
Record begun(const Activity& activity, CUpti_ActivityKind kind) {
  Record record{};
  record.kind = kind;
  record.start = recordTime(activity.begin);
  record.end = recordTime(activity.end);
  if (record.end < record.start) record.end = record.start;  // the clocks' paces differ by a little
  record.deviceId = activity.card;
  record.contextId = activity.card + 1;
  record.streamId = activity.stream + kDefaultStream;
  record.correlationId = activity.correlation;
  return record;
}

}  // namespace

void setClock(CUpti_TimestampCallbackFunc clock) {
  const std::lock_guard lock(clock_mutex);
  callers = clock;
  first = both();
}

CUpti_ActivityKernel10 kernelRecord(const Activity& activity, CUpti_ActivityKind kind) {
  auto record = begun<CUpti_ActivityKernel10>(activity, kind);
  record.completed = record.end;
  record.name = kept(activity.name);
  record.gridX = record.gridY = record.gridZ = 1;
  record.blockX = record.blockY = record.blockZ = 1;
  return record;
}

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

CUpti_ActivityAPI callRecord(const Call& call, const Callback& callback) {
  CUpti_ActivityAPI record{};
  record.kind =
      callback.domain == CUPTI_CB_DOMAIN_RUNTIME_API ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  record.cbid = callback.number;
  record.start = recordTime(call.begin);
  record.end = recordTime(call.end);
  if (record.end < record.start) record.end = record.start;
  record.processId = static_cast<uint32_t>(getpid());
  record.threadId = static_cast<uint32_t>(pthread_self());  // CUPTI's way to number threads unless it is told another
  record.correlationId = call.correlation;
  return record;
}

}  // namespace nullgpu::cupti
