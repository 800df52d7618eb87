#include <cuda_runtime_api.h>
#include <cupti.h>
#include <cupti_runtime_cbid.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "nullgpu/core/activity.h"
#include "nullgpu/core/stream.h"

namespace {

constexpr size_t kBytes = 4096;

/// The records that the callbacks received, in their order.
struct Got {
  std::mutex mutex;
  std::vector<CUpti_ActivityKernel10> kernels;
  std::vector<CUpti_ActivityMemcpy6> copies;
  std::vector<CUpti_ActivityMemcpyPtoP4> peer_copies;
  std::vector<CUpti_ActivityMemset4> sets;
  std::vector<CUpti_ActivityAPI> calls;
  std::vector<CUpti_ActivityExternalCorrelation> external;
  size_t buffers = 0;
  size_t buffer_bytes = 1 << 16, most_records = 0;  // the size of buffers that giveBuffer gives; 0 for no buffer
} got;

void CUPTIAPI giveBuffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = got.buffer_bytes ? static_cast<uint8_t*>(std::aligned_alloc(8, got.buffer_bytes)) : nullptr;
  *size = got.buffer_bytes;
  *most_records = got.most_records;
}

template <typename Record>
void take(std::vector<Record>& into, const CUpti_Activity* record) {
  into.push_back(*reinterpret_cast<const Record*>(record));
}

void CUPTIAPI takeBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t filled) {
  const std::lock_guard lock(got.mutex);
  ++got.buffers;
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, filled, &record) == CUPTI_SUCCESS) {
    switch (record->kind) {
      case CUPTI_ACTIVITY_KIND_KERNEL:
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        take(got.kernels, record);
        break;
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        take(got.copies, record);
        break;
      case CUPTI_ACTIVITY_KIND_MEMCPY2:
        take(got.peer_copies, record);
        break;
      case CUPTI_ACTIVITY_KIND_MEMSET:
        take(got.sets, record);
        break;
      case CUPTI_ACTIVITY_KIND_RUNTIME:
        take(got.calls, record);
        break;
      case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        take(got.external, record);
        break;
      default:
        FAIL_CHECK("a record of kind " << int(record->kind));
    }
  }
  std::free(buffer);
}

/// Records these kinds as long as it lives.
class Recording {
 public:
  explicit Recording(std::vector<CUpti_ActivityKind> kinds) : kinds_(std::move(kinds)) {
    got.kernels.clear();
    got.copies.clear();
    got.peer_copies.clear();
    got.sets.clear();
    got.calls.clear();
    got.external.clear();
    got.buffers = 0;
    CHECK(cuptiActivityRegisterCallbacks(giveBuffer, takeBuffer) == CUPTI_SUCCESS);
    for (const CUpti_ActivityKind kind : kinds_) CHECK(cuptiActivityEnable(kind) == CUPTI_SUCCESS);
  }
  ~Recording() {
    for (const CUpti_ActivityKind kind : kinds_) cuptiActivityDisable(kind);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  std::vector<CUpti_ActivityKind> kinds_;
};

/// Launches a kernel as a program's code does.
void launch(cudaStream_t stream, const char* name) {
  const nullgpu::CallScope call("cudaLaunchKernel");
  CHECK(nullgpu::launch(stream, name) == cudaSuccess);
}

class DeviceMemory {
 public:
  DeviceMemory() { CHECK(cudaMalloc(&address_, kBytes) == cudaSuccess); }
  ~DeviceMemory() { cudaFree(address_); }
  void* operator()() const { return address_; }

 private:
  void* address_ = nullptr;
};

std::string nameOf(const CUpti_ActivityAPI& call) {
  const char* name = nullptr;
  CHECK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, call.cbid, &name) == CUPTI_SUCCESS);
  return name;
}

size_t callsOf(const std::string& name) {
  return size_t(std::ranges::count_if(got.calls, [&](const CUpti_ActivityAPI& call) { return nameOf(call) == name; }));
}

void CUPTIAPI ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

}  // namespace

TEST_CASE("kernels have their names, streams and the calls that launched them") {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  {
    const Recording recording({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME});
    uint64_t before = 0, after = 0;
    cuptiGetTimestamp(&before);
    launch(nullptr, "_Z5firstv");
    launch(stream, "_Z6secondv");
    launch(stream, "_Z5firstv");
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    cuptiGetTimestamp(&after);
    CHECK(cuptiActivityFlushAll(0) == CUPTI_SUCCESS);
    REQUIRE(got.kernels.size() == 3);
    CHECK(std::ranges::count_if(got.kernels,
                                [](const auto& kernel) { return std::string(kernel.name) == "_Z5firstv"; }) == 2);
    for (const auto& kernel : got.kernels) {
      CHECK(kernel.deviceId == 0);
      CHECK(kernel.start >= before);
      CHECK(kernel.start <= kernel.end);
      CHECK(kernel.end <= after);
      const auto call = std::ranges::find(got.calls, kernel.correlationId, &CUpti_ActivityAPI::correlationId);
      REQUIRE(call != got.calls.end());
      CHECK(nameOf(*call) == "cudaLaunchKernel_v7000");
      CHECK(+call->processId == uint32_t(getpid()));
      CHECK(uint64_t{call->start} <= uint64_t{call->end});
    }
    CHECK(callsOf("cudaLaunchKernel_v7000") == 3);
    CHECK(callsOf("cudaDeviceSynchronize_v3020") == 1);
    const auto named = [](const char* name) {
      return [=](const auto& kernel) { return std::string(kernel.name) == name; };
    };
    const auto second = std::ranges::find_if(got.kernels, named("_Z6secondv"));
    REQUIRE(second != got.kernels.end());
    CHECK(+second->streamId != 7);
    CHECK(std::ranges::count(got.kernels, second->streamId, &CUpti_ActivityKernel10::streamId) == 2);
  }
  cudaStreamDestroy(stream);
}

TEST_CASE("copies and sets have their bytes, their ways and the host's kind of memory") {
  const DeviceMemory one, two;
  void* pinned = nullptr;
  REQUIRE(cudaHostAlloc(&pinned, kBytes, cudaHostAllocDefault) == cudaSuccess);
  std::vector<char> pageable(kBytes);
  {
    const Recording recording({CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET});
    CHECK(cudaMemsetAsync(one(), 0, 100, nullptr) == cudaSuccess);
    CHECK(cudaMemcpyAsync(one(), pinned, kBytes, cudaMemcpyHostToDevice, nullptr) == cudaSuccess);
    CHECK(cudaMemcpyAsync(two(), one(), 300, cudaMemcpyDeviceToDevice, nullptr) == cudaSuccess);
    CHECK(cudaMemcpy(pageable.data(), two(), 200, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    cuptiActivityFlushAll(0);
    REQUIRE(got.sets.size() == 1);
    CHECK(+got.sets[0].bytes == 100);
    REQUIRE(got.copies.size() == 3);
    const auto of = [](CUpti_ActivityMemcpyKind kind) {
      return *std::ranges::find(got.copies, uint8_t(kind), &CUpti_ActivityMemcpy6::copyKind);
    };
    const auto in = of(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD), out = of(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
    CHECK(in.bytes == kBytes);
    CHECK(in.srcKind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
    CHECK(in.dstKind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    CHECK(out.bytes == 200);
    CHECK(out.srcKind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    CHECK(out.dstKind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
    CHECK(of(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD).bytes == 300);
  }
  cudaFreeHost(pinned);
}

TEST_CASE("copies between cards name both") {
  const DeviceMemory here;
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  {
    const DeviceMemory there;
    const Recording recording({CUPTI_ACTIVITY_KIND_MEMCPY2});
    CHECK(cudaMemcpyPeerAsync(there(), 1, here(), 0, 64, nullptr) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    cuptiActivityFlushAll(0);
    REQUIRE(got.peer_copies.size() == 1);
    CHECK(+got.peer_copies[0].srcDeviceId == 0);
    CHECK(+got.peer_copies[0].dstDeviceId == 1);
    CHECK(+got.peer_copies[0].bytes == 64);
  }
  cudaSetDevice(0);
}

TEST_CASE("nothing is recorded that was not asked for") {
  const Recording recording({CUPTI_ACTIVITY_KIND_MEMCPY});
  launch(nullptr, "_Z5firstv");
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  cuptiActivityFlushAll(0);
  CHECK(got.buffers == 0);
  CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_INVALID) == CUPTI_ERROR_INVALID_KIND);
  CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_COUNT) == CUPTI_ERROR_INVALID_KIND);
  CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_KERNEL) == CUPTI_SUCCESS);
  CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_ERROR_NOT_COMPATIBLE);
  CHECK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_KERNEL) == CUPTI_SUCCESS);
}

TEST_CASE("single functions can be left out, or recorded alone") {
  const auto call = [] {
    int count = 0;
    for (int i = 0; i < 3; ++i) CHECK(cudaGetDeviceCount(&count) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    cuptiActivityFlushAll(0);
  };
  {
    const Recording recording({CUPTI_ACTIVITY_KIND_RUNTIME});
    CHECK(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetDeviceCount_v3020, 0) == CUPTI_SUCCESS);
    call();
    CHECK(callsOf("cudaGetDeviceCount_v3020") == 0);
    CHECK(callsOf("cudaDeviceSynchronize_v3020") == 1);
  }
  {
    const Recording recording({});
    CHECK(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetDeviceCount_v3020, 1) == CUPTI_SUCCESS);
    call();
    CHECK(got.calls.size() == 3);
    CHECK(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetDeviceCount_v3020, 0) == CUPTI_SUCCESS);
  }
  CHECK(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_SIZE, 1) == CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_CASE("buffers come back when they are full, and what finds none is counted") {
  const Recording recording({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  const auto launchMany = [](int count) {
    for (int i = 0; i < count; ++i) launch(nullptr, "_Z5firstv");
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  };
  got.most_records = 4;
  launchMany(10);
  CHECK(got.kernels.size() == 10);
  CHECK(got.buffers == 3);
  got.most_records = 0;
  got.buffer_bytes = 3 * sizeof(CUpti_ActivityKernel10) + 8;
  launchMany(10);
  CHECK(got.kernels.size() == 20);
  CHECK(got.buffers == 7);
  size_t dropped = 7;
  CHECK(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS);
  CHECK(dropped == 0);
  got.buffer_bytes = 0;
  launchMany(5);
  CHECK(got.kernels.size() == 20);
  CHECK(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS);
  CHECK(dropped == 5);
  CHECK(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS);
  CHECK(dropped == 0);
  got.buffer_bytes = 1 << 16;
}

TEST_CASE("a thread hands over full buffers by itself, and never a part of one") {
  got.most_records = 2;
  for (const uint32_t period : {0u, 1u}) {
    const Recording recording({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
    CHECK(cuptiActivityFlushPeriod(period) == CUPTI_SUCCESS);
    const auto count = [] {
      const std::lock_guard lock(got.mutex);
      return got.kernels.size();
    };
    for (int i = 0; i < 5; ++i) launch(nullptr, "_Z5firstv");
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    while (count() < 4) std::this_thread::yield();  // if it hangs, the test's own time limit ends it
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(count() == 4);
    cuptiActivityFlushAll(0);
    CHECK(count() == 5);
  }
  CHECK(cuptiActivityFlushPeriod(0) == CUPTI_SUCCESS);
  got.most_records = 0;
}

TEST_CASE("a profiler's numbers stand beside those of the calls") {
  const auto custom = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  const Recording recording({CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_RUNTIME});
  CHECK(cuptiActivityPushExternalCorrelationId(custom, 11) == CUPTI_SUCCESS);
  CHECK(cuptiActivityPushExternalCorrelationId(custom, 12) == CUPTI_SUCCESS);
  launch(nullptr, "_Z5firstv");
  uint64_t last = 0;
  CHECK(cuptiActivityPopExternalCorrelationId(custom, &last) == CUPTI_SUCCESS);
  CHECK(last == 12);
  CHECK(cuptiActivityPopExternalCorrelationId(custom, nullptr) == CUPTI_SUCCESS);
  CHECK(cuptiActivityPopExternalCorrelationId(custom, nullptr) == CUPTI_ERROR_QUEUE_EMPTY);
  launch(nullptr, "_Z5firstv");  // has no number in CUPTI
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  cuptiActivityFlushAll(0);
  REQUIRE(got.external.size() == 1);
  CHECK(+got.external[0].externalId == 12);
  CHECK(+got.external[0].externalKind == custom);
  CHECK(std::ranges::count(got.calls, got.external[0].correlationId, &CUpti_ActivityAPI::correlationId) == 1);
}

TEST_CASE("there is one subscriber, and none where another tool has CUPTI") {
  CUpti_SubscriberHandle first = nullptr, second = nullptr;
  CHECK(cuptiSubscribe(&first, ignore, nullptr) == CUPTI_SUCCESS);
  CHECK(cuptiSubscribe(&second, ignore, nullptr) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  CHECK(cuptiEnableDomain(1, first, CUPTI_CB_DOMAIN_RESOURCE) == CUPTI_SUCCESS);
  CHECK(cuptiEnableDomain(1, first, CUPTI_CB_DOMAIN_RUNTIME_API) == CUPTI_ERROR_NOT_SUPPORTED);
  CHECK(cuptiUnsubscribe(first) == CUPTI_SUCCESS);
  CHECK(cuptiUnsubscribe(first) == CUPTI_ERROR_INVALID_PARAMETER);
  const int other = fork();
  if (other == 0) {
    setenv("NULLGPU_FAULTS", "cupti", 1);  // a fork reads its environment again
    const bool refused = cuptiSubscribe(&second, ignore, nullptr) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED &&
                         cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME) != CUPTI_SUCCESS;
    _exit(refused ? 0 : 1);
  }
  int status = 1;
  waitpid(other, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("functions and results have names") {
  const char* text = nullptr;
  CHECK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, &text) ==
        CUPTI_SUCCESS);
  CHECK(std::string(text) == "cudaMemcpyAsync_v3020");
  CHECK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 0, &text) == CUPTI_ERROR_INVALID_PARAMETER);
  CHECK(cuptiGetResultString(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, &text) == CUPTI_SUCCESS);
  CHECK(std::string(text) == "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
  CHECK(cuptiGetResultString(static_cast<CUptiResult>(123456), &text) == CUPTI_ERROR_INVALID_PARAMETER);
  uint32_t version = 0;
  CHECK(cuptiGetVersion(&version) == CUPTI_SUCCESS);
  CHECK(version == CUPTI_API_VERSION);
  uint32_t device = 9;
  CHECK(cuptiGetDeviceId(nullptr, &device) == CUPTI_SUCCESS);
  CHECK(device == 0);
}

// Must be the last test: a registered clock stays.
TEST_CASE("records can have the profiler's own clock") {
  constexpr auto clock = [] { return nullgpu::now() / 2 + 1'000; };
  CHECK(cuptiActivityRegisterTimestampCallback(clock) == CUPTI_SUCCESS);
  const Recording recording({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  const uint64_t before = clock();
  launch(nullptr, "_Z5firstv");
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  const uint64_t after = clock();
  cuptiActivityFlushAll(0);
  REQUIRE(got.kernels.size() == 1);
  const auto& kernel = got.kernels[0];
  // The pace is measured; the readings before and after may lie close together.
  constexpr uint64_t kError = 1'000'000;
  CHECK(kernel.start + kError >= before);
  CHECK(kernel.start <= kernel.end);
  CHECK(kernel.end <= after + kError);
}
