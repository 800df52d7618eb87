#include "tests/memory/counting_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <atomic>
#include <cstring>

namespace expc::memory {
namespace {

std::atomic<int64_t> bytes_held{0};
std::atomic<int64_t> most_held{0};

constexpr size_t kHeader = 64;  // holds the size and keeps the alignment

void release(void* data) {
  if (data == nullptr) return;
  char* block = static_cast<char*>(data) - kHeader;
  size_t size = 0;
  std::memcpy(&size, block, sizeof(size));
  bytes_held -= int64_t(size);
  c10::free_cpu(block);
}

class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    char* block = static_cast<char*>(c10::alloc_cpu(size + kHeader));
    std::memcpy(block, &size, sizeof(size));
    const int64_t now = bytes_held += int64_t(size);
    int64_t most = most_held;
    while (now > most && !most_held.compare_exchange_weak(most, now)) {
    }
    void* data = block + kHeader;
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t size) const override { default_copy_data(to, from, size); }
};

}  // namespace

void countTensors() {
  static CountingAllocator allocator;
  c10::SetCPUAllocator(&allocator, /*priority=*/255);
}

int64_t held() { return bytes_held; }
int64_t peak() { return most_held; }
void resetPeak() { most_held = bytes_held.load(); }

}  // namespace expc::memory
