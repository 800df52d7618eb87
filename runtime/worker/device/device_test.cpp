#include "runtime/worker/device/device.h"

#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "runtime/worker/device/host.h"

using namespace expc::device;
using namespace std::chrono_literals;

namespace {

llvm::Expected<std::unique_ptr<Device>> open(llvm::json::Object slot) {
  const llvm::json::Value value(std::move(slot));
  return openDevice({cpuBackend()}, value);
}

}  // namespace

TEST_CASE("a slot opens its device; an unknown one is refused with what there is") {
  auto device = open(llvm::json::Object{{"device", "cpu"}, {"cores", llvm::json::Array{0, 1}}});
  REQUIRE(bool(device));
  CHECK((*device)->torchDevice().is_cpu());
  CHECK(at::get_num_threads() == 2);
  CHECK_FALSE((*device)->memoryPeaks().has_value());
  auto none = open(llvm::json::Object{{"device", "cuda"}, {"index", 0}});
  REQUIRE_FALSE(bool(none));
  CHECK(llvm::toString(none.takeError()).find("device is 'cuda', but this worker knows only: cpu") !=
        std::string::npos);
}

TEST_CASE("marks give the time between them") {
  auto device = open(llvm::json::Object{{"device", "cpu"}});
  REQUIRE(bool(device));
  (*device)->mark();
  (*device)->clearMarks(3);
  (*device)->mark();
  std::this_thread::sleep_for(20ms);
  (*device)->mark();
  (*device)->mark();
  auto intervals = (*device)->intervals();
  REQUIRE(intervals.size() == 2);
  CHECK(intervals[0] >= 0.02);
  CHECK(intervals[1] < intervals[0]);
}

TEST_CASE("resident memory has a peak that grows when memory is touched") {
  const auto before = residentPeak();
  REQUIRE(before.has_value());
  std::vector<char> memory(64 << 20);
  std::memset(memory.data(), 1, memory.size());
  CHECK(*residentPeak() >= *before + (48 << 20));
}

TEST_CASE("malloc keeps what is freed, on huge pages where the system has them, and says so") {
  const auto before = residentPeak();
  keepFreedMemory();
  // None of the reserved memory becomes resident.
  if (before) CHECK(*residentPeak() < *before + (64 << 20));
  constexpr size_t kSize = 64 << 20;
  void* volatile first = std::malloc(kSize);
  REQUIRE(first != nullptr);
  std::memset(first, 1, kSize);
  const auto place = reinterpret_cast<uintptr_t>(first);
  std::free(first);
  void* volatile second = std::malloc(kSize);
  CHECK(reinterpret_cast<uintptr_t>(second) == place);  // memory was not given back in between
  std::free(second);

  llvm::json::Object environment;
  describeAllocator(environment);
  const std::string text = environment.getString("allocator")->str();
  CAPTURE(text);
  CHECK(text.find("mmap_max=0") != std::string::npos);
  if (text.find("huge_pages=") == std::string::npos) return;
  // The mapping around the middle of the block carries the advice. The block may begin in the older
  // part of the heap.
  const uintptr_t middle = place + kSize / 2;
  std::ifstream maps("/proc/self/smaps");
  bool inside = false, advised = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) inside = begin <= middle && middle < end;
    if (inside && line.rfind("VmFlags:", 0) == 0) advised = line.find(" hg") != std::string::npos;
  }
  CHECK(advised);
}

TEST_CASE("a process is older than its tests and younger than a day") {
  const auto age = std::chrono::steady_clock::now() - processStart();
  CHECK(age > 0s);
  CHECK(age < 24h);
}
