#include <cuda_runtime_api.h>
#include <cupti_runtime_cbid.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/worker/profile/cuda/cupti_probe.h"

using namespace expc::profile;

// nvcc generates calls of these functions to register a program's kernels.
extern "C" void** __cudaRegisterFatBinary(void* code);
extern "C" void __cudaRegisterFatBinaryEnd(void** handle);
extern "C" void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name, int limit,
                                       void*, void*, void*, void*, int*);

namespace {

bool hasGpu() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

/// A simulated GPU accepts any function as a kernel, so the test needs no CUDA compiler.
bool hasNullCards() {
  cudaDeviceProp properties{};
  return hasGpu() && cudaGetDeviceProperties(&properties, 0) == cudaSuccess &&
         std::memcmp(properties.uuid.bytes, "null", 4) == 0;
}

/// Launches two kernels, the first of them twice.
void launchThree() {
  static char code = 0, first = 0, second = 0;
  static void** const handle = [] {
    void** made = __cudaRegisterFatBinary(&code);
    const auto add = [made](const char* host, const char* name) {
      __cudaRegisterFunction(made, host, const_cast<char*>(name), name, -1, nullptr, nullptr, nullptr, nullptr,
                             nullptr);
    };
    add(&first, "_ZN4test5firstEPf");
    add(&second, "_Z28ncclDevKernel_AllReduce_Testv");
    __cudaRegisterFatBinaryEnd(made);
    return made;
  }();
  REQUIRE((handle != nullptr));
  for (const char* kernel : {&first, &second, &first})
    CHECK(cudaLaunchKernel(kernel, dim3(1), dim3(32), nullptr, 0, nullptr) == cudaSuccess);
}

template <typename Record>
std::optional<Activity> translated(const Record& record) {
  return activityOf(reinterpret_cast<const CUpti_Activity&>(record));
}

}  // namespace

TEST_CASE("CUPTI's records in our words") {
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  call.start = 10;
  call.end = 30;
  auto activity = translated(call);
  REQUIRE(activity);
  CHECK(activity->kind == Activity::Kind::Call);
  CHECK(std::string(callName(activity->name)) == "cudaLaunchKernel");
  CHECK(activity->begin == 10);
  CHECK(activity->end == 30);
  call.cbid = 0x7fffffff;
  CHECK(std::string(translated(call)->name) == "unknown call");

  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
  kernel.start = 5;
  kernel.end = 6;
  kernel.deviceId = 3;
  activity = translated(kernel);
  REQUIRE(activity);
  CHECK(familyOf(activity->name) == Family::AllReduce);
  CHECK(activity->end == 6);
  CHECK(activity->device == 3);
  kernel.name = nullptr;
  CHECK(std::string(translated(kernel)->name) == "unknown kernel");

  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.bytes = 4096;
  const std::pair<int, Direction> directions[] = {{CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, Direction::HostToDevice},
                                                  {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, Direction::DeviceToHost},
                                                  {CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, Direction::DeviceToDevice},
                                                  {CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, Direction::HostToHost},
                                                  {CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, Direction::DeviceToDevice}};
  for (const auto& [kind, direction] : directions) {
    copy.copyKind = uint8_t(kind);
    CHECK(translated(copy)->direction == direction);
    CHECK(translated(copy)->bytes == 4096);
  }
  CUpti_ActivityMemcpyPtoP4 between{};
  between.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  between.bytes = 7;
  CHECK(translated(between)->direction == Direction::DeviceToDevice);
  CUpti_ActivityMemset4 fill{};
  fill.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  fill.bytes = 9;
  CHECK(translated(fill)->kind == Activity::Kind::Fill);
  CHECK(translated(fill)->bytes == 9);

  CUpti_Activity other{};
  other.kind = CUPTI_ACTIVITY_KIND_NAME;
  CHECK_FALSE(activityOf(other));
  CHECK(resultText(CUPTI_ERROR_NOT_INITIALIZED) == "CUPTI_ERROR_NOT_INITIALIZED");
  CHECK(resultText(static_cast<CUptiResult>(123456)).find("123456") != std::string::npos);
}

TEST_CASE("without a GPU, or with another tool at CUPTI, there are no totals but a note") {
  const bool gpu = hasGpu();
  for (int i = 0; i < 2; ++i) {
    const auto probe = makeCuptiProbe();
    probe->prepare();
    probe->start();
    const Findings findings = probe->stop(0.1);
    if (findings.device) {
      CHECK(gpu);
    } else {
      REQUIRE(findings.notes.size() == 1);
      MESSAGE(findings.notes[0]);
      CHECK(findings.notes[0].find("were not measured") != std::string::npos);
      CHECK_FALSE(findings.all_reduce);
      CHECK(findings.breakdown.empty());
    }
  }
}

TEST_CASE("a probe gives way to a tool that has CUPTI already") {
  CUpti_SubscriberHandle tool = nullptr;
  const auto ignore = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
  if (cuptiSubscribe(&tool, static_cast<CUpti_CallbackFunc>(ignore), nullptr) != CUPTI_SUCCESS) return;
  {
    const auto probe = makeCuptiProbe();
    probe->prepare();
    probe->start();
    const Findings findings = probe->stop(0.1);
    CHECK_FALSE(findings.device);
    REQUIRE(findings.notes.size() == 1);
    CHECK(findings.notes[0].find("another tool (Nsight") == 0);
  }
  cuptiUnsubscribe(tool);
}

TEST_CASE("the findings say what a GPU did: kernels, copies by direction, fills and calls") {
  if (std::getenv("NULLGPU_CARDS")) REQUIRE(hasNullCards());
  if (!hasGpu()) return;
  constexpr size_t kBytes = 1 << 16;
  void *device = nullptr, *pinned = nullptr;
  std::vector<char> pageable(kBytes);
  REQUIRE(cudaMalloc(&device, kBytes) == cudaSuccess);
  REQUIRE(cudaMallocHost(&pinned, kBytes) == cudaSuccess);
  for (int round = 0; round < 2; ++round) {  // one probe behind another
    const auto probe = makeCuptiProbe();
    probe->prepare();
    CHECK(cudaMemset(device, 0, kBytes) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    probe->start();
    if (hasNullCards()) launchThree();
    CHECK(cudaMemcpyAsync(device, pinned, kBytes, cudaMemcpyHostToDevice, nullptr) == cudaSuccess);
    CHECK(cudaMemcpyAsync(pageable.data(), device, kBytes, cudaMemcpyDeviceToHost, nullptr) == cudaSuccess);
    CHECK(cudaMemsetAsync(device, 0, 100, nullptr) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    const Findings findings = probe->stop(0.1);
    REQUIRE(findings.device);
    CHECK(findings.notes.empty());
    const ActivityTotals& totals = *findings.device;
    CHECK(totals.copies[size_t(Direction::HostToDevice)].count == 1);
    CHECK(totals.copies[size_t(Direction::DeviceToHost)].count == 1);
    CHECK(totals.copies[size_t(Direction::HostToDevice)].bytes == kBytes);
    CHECK(totals.copies[size_t(Direction::DeviceToDevice)].count == 0);
    CHECK(totals.fills.count == 1);  // the one before the start is not in it
    CHECK(totals.calls.at("cudaMemcpyAsync").count == 2);
    CHECK(totals.calls.at("cudaDeviceSynchronize").count == 1);
    CHECK(totals.busy_seconds > 0);
    CHECK(totals.untimed + totals.malformed == 0);
    if (!hasNullCards()) continue;
    CHECK(totals.calls.at("cudaLaunchKernel").count == 3);
    CHECK(totals.kernels.at("test::first").count == 2);
    CHECK(totals.families[size_t(Family::AllReduce)].count == 1);
    REQUIRE(findings.all_reduce);
    CHECK(findings.all_reduce->count == 1);
  }
  cudaFree(device);
  cudaFreeHost(pinned);
}
