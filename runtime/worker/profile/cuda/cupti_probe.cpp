// A GPU's probe by CUPTI's activity records. CUPTI asks for buffers and returns them full on a
// thread of its own, where they are summed at once and reused: storing millions of records would
// disturb the host. The callbacks are plain functions without a pointer of ours, so a global one
// leads to the collection.

#include "runtime/worker/profile/cuda/cupti_probe.h"

#include <cupti_activity.h>
#include <cupti_callbacks.h>

#include <atomic>
#include <cassert>
#include <cstdlib>
#include <mutex>

namespace expc::profile {
namespace {

Direction directionOf(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return Direction::HostToDevice;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return Direction::DeviceToHost;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return Direction::HostToHost;
    default:
      return Direction::DeviceToDevice;
  }
}

/// The record as the type that belongs to its kind.
template <typename Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

/// Kinds of records: calls of the runtime, kernels, copies within and between devices, fills.
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                         CUPTI_ACTIVITY_KIND_MEMSET};
/// About 10,000 records.
constexpr size_t kBufferBytes = 2u << 20;
/// CUPTI's own thread returns buffers this often, so that records are summed while training goes
/// on.
constexpr uint32_t kFlushMilliseconds = 50;

/// Everything that the callbacks use; they carry no pointer of ours.
struct Collection {
  std::mutex mutex;
  ActivitySum sum;
  /// Records that begin earlier are not counted. Set after recording has begun, hence atomic.
  std::atomic<uint64_t> begin{UINT64_MAX};
  /// Buffers to be used again.
  std::vector<uint8_t*> spare;
  uint64_t dropped = 0;
};
/// The collection of the probe that is active, if any.
std::atomic<Collection*> collecting{nullptr};

/// CUPTI asks for an empty buffer.
void CUPTIAPI giveBuffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = nullptr;
  *size = kBufferBytes;
  *most_records = 0;  // as many as fit
  if (Collection* collection = collecting.load(std::memory_order_acquire)) {
    const std::lock_guard lock(collection->mutex);
    if (!collection->spare.empty()) {
      *buffer = collection->spare.back();
      collection->spare.pop_back();
      return;
    }
  }
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(4096, kBufferBytes));
  if (!*buffer) *size = 0;
}

/// CUPTI returns a buffer with `valid` bytes of records. After the probe's end it is only freed.
void CUPTIAPI takeBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  Collection* collection = collecting.load(std::memory_order_acquire);
  if (!collection) return std::free(buffer);
  const std::lock_guard lock(collection->mutex);
  CUpti_Activity* record = nullptr;
  while (valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    const auto activity = activityOf(*record);
    // Records without a time cannot be told from later ones, so they count.
    const bool counts = activity && (activity->begin == 0 || activity->begin >= collection->begin);
    if (counts) collection->sum.add(*activity);
  }
  size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS) collection->dropped += dropped;
  collection->spare.push_back(buffer);
}

/// We need no callbacks at calls; a subscriber must name one.
void CUPTIAPI ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

class CuptiProbe final : public Probe {
 public:
  ~CuptiProbe() override { release(); }

  void prepare() override {
    assert(!collecting.load() && "one probe at a time");
    // CUPTI serves one subscriber. Subscribing tells whether another profiler was first, before it
    // is disturbed.
    if (!works(cuptiSubscribe(&subscriber_, ignore, nullptr), "CUPTI is not available")) return;
    subscribed_ = true;
    collecting.store(collection_, std::memory_order_release);
    if (!works(cuptiActivityRegisterCallbacks(giveBuffer, takeBuffer), "CUPTI accepts no buffers")) return;
    cuptiActivityFlushPeriod(kFlushMilliseconds);
    for (const CUpti_ActivityKind kind : kKinds) {
      if (!works(cuptiActivityEnable(kind), "CUPTI does not record everything")) return;
    }
  }

  /// Warm-up steps before this were recorded too; their records are discarded by their time.
  void start() override {
    if (why_.empty() && works(cuptiGetTimestamp(&begin_), "CUPTI has no clock")) collection_->begin = begin_;
  }

  Findings stop(double wall_seconds) override {
    Findings findings;
    if (why_.empty()) {
      uint64_t end = 0;
      // Disable first, so that the flush is complete.
      cuptiGetTimestamp(&end);
      for (const CUpti_ActivityKind kind : kKinds) cuptiActivityDisable(kind);
      works(cuptiActivityFlushAll(0), "CUPTI did not return its records");
      const std::lock_guard lock(collection_->mutex);
      ActivityTotals totals = collection_->sum.take(begin_, end);
      if (why_.empty()) report(findings, std::move(totals), wall_seconds);
    }
    if (!why_.empty()) findings.notes.push_back(why_);
    release();
    return findings;
  }

 private:
  /// Checks a call of CUPTI. After the first failure `why_` says why there are no totals, and
  /// everything is released.
  bool works(CUptiResult result, const char* what) {
    if (result == CUPTI_SUCCESS) return true;
    why_ = std::string(what) + " (" + resultText(result) + "): calls, kernels and copies were not measured";
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
      why_ =
          "another tool (Nsight, or CUDA_INJECTION64_PATH) uses CUPTI, which serves only one: calls, kernels and "
          "copies were not measured; run without that tool to measure them";
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
      why_ +=
          "; the driver allows profiling to administrators only (NVreg_RestrictProfilingToAdminUsers=0 allows it to "
          "all)";
    release();
    return false;
  }

  void report(Findings& findings, ActivityTotals totals, double wall_seconds) const {
    addActivity(findings.breakdown, totals, wall_seconds);
    findings.all_reduce = totals.families[size_t(Family::AllReduce)];
    const auto note = [&](uint64_t count, const char* what) {
      if (count > 0) findings.notes.push_back("CUPTI: " + std::to_string(count) + what);
    };
    note(collection_->dropped, " records were dropped, so totals are too small");
    note(totals.untimed, " records have no time; they are counted, but their time is missing");
    note(totals.malformed, " records end before they begin and were left out");
    findings.device = std::move(totals);
  }

  void release() {
    if (!subscribed_) return;
    for (const CUpti_ActivityKind kind : kKinds) cuptiActivityDisable(kind);
    // From here on returned buffers are only freed.
    collecting.store(nullptr, std::memory_order_release);
    cuptiUnsubscribe(subscriber_);
    subscribed_ = false;
  }

  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool subscribed_ = false;
  uint64_t begin_ = 0;
  std::string why_;
  // Never freed, with its buffers, because CUPTI's thread may still hold them. A process makes few
  // probes.
  Collection* collection_ = new Collection;
};

}  // namespace

std::optional<Activity> activityOf(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_RUNTIME: {
      const auto& call = as<CUpti_ActivityAPI>(record);
      const char* name = nullptr;
      if (cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, call.cbid, &name) != CUPTI_SUCCESS || !name)
        name = "unknown call";
      return Activity{Activity::Kind::Call, name, {}, call.start, call.end, 0, 0};
    }
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = as<CUpti_ActivityKernel10>(record);
      return Activity{
          Activity::Kind::Kernel, kernel.name ? kernel.name : "unknown kernel", {}, kernel.start, kernel.end, 0,
          kernel.deviceId};
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = as<CUpti_ActivityMemcpy6>(record);
      return Activity{Activity::Kind::Copy, "",           directionOf(copy.copyKind), copy.start, copy.end,
                      copy.bytes,           copy.deviceId};
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto& copy = as<CUpti_ActivityMemcpyPtoP4>(record);
      return Activity{Activity::Kind::Copy, "",           Direction::DeviceToDevice, copy.start, copy.end,
                      copy.bytes,           copy.deviceId};
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = as<CUpti_ActivityMemset4>(record);
      return Activity{Activity::Kind::Fill, "", {}, fill.start, fill.end, fill.bytes, fill.deviceId};
    }
    default:
      return std::nullopt;
  }
}

std::string resultText(CUptiResult result) {
  const char* text = nullptr;
  if (cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text) return text;
  return "CUPTI error " + std::to_string(int(result));
}

std::unique_ptr<Probe> makeCuptiProbe() { return std::make_unique<CuptiProbe>(); }

}  // namespace expc::profile
