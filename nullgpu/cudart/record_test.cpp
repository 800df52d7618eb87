#include <doctest/doctest.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "nullgpu/core/counters_api.h"
#include "nullgpu/tests/cuda.h"

using namespace nullgpu::testing;

namespace {

/// A folder for records, which is removed with this object.
struct Folder {
  std::string path = [] {
    char name[] = "/tmp/nullgpu-records-XXXXXX";
    return std::string(mkdtemp(name));
  }();
  Folder() = default;
  Folder(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }

  std::vector<nullgpu_record> records() const {
    std::vector<nullgpu_record> all;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      std::ifstream file(entry.path(), std::ios::binary);
      file.read(reinterpret_cast<char*>(&all.emplace_back()), sizeof(nullgpu_record));
      CHECK(file.gcount() == sizeof(nullgpu_record));
      CHECK(std::memcmp(all.back().mark, NULLGPU_RECORD_MARK, sizeof all.back().mark) == 0);
    }
    return all;
  }
};

}  // namespace

TEST_CASE("a process leaves a record of what it did, also one that is killed") {
  for (const bool killed : {false, true}) {
    const Folder folder;
    inChild({{"NULLGPU_RECORD", folder.path}, {"RANK", "3"}, {"NULLGPU_MEMORY", "1MB"}}, [&](std::FILE*) {
      const cudaStream_t stream = newStream();
      char *host = hostMemory(100), *card = cardMemory(4096), *other = cardMemory(8192);
      OK(cudaFree(other));
      OK(launchKernel(stream));
      OK(cudaMemcpyAsync(card, host, 100, cudaMemcpyHostToDevice, stream));
      OK(cudaStreamSynchronize(stream));
      nullgpu_note_allocator(0, 50, 60);
      if (killed) std::raise(SIGKILL);
    });
    const auto records = folder.records();
    REQUIRE(records.size() == 1);
    const nullgpu_record& one = records[0];
    CHECK(one.rank == 3);
    CHECK(one.ended == uint64_t(!killed));
    CHECK(one.launches == 1);
    CHECK(one.synchronizations == 2);  // cudaFree waits, too
    CHECK(one.waited > 0);
    CHECK(one.copies[1].bytes == 100);
    CHECK(one.cards[0].peak == 4096 + 8192);
    CHECK(one.cards[0].allocated == 50);
    CHECK(one.cards[0].reserved == 60);
    CHECK(one.cards[0].refused == 0);
    CHECK(one.cards[1].opened == 0);
    CHECK(one.places[0].at[0] == '\0');  // no Python
  }
}

TEST_CASE("a record keeps the request that was refused for lack of memory, unless it was granted later") {
  for (const bool granted : {false, true}) {
    const Folder folder;
    inChild({{"NULLGPU_RECORD", folder.path}, {"NULLGPU_MEMORY", "1MiB"}}, [&](std::FILE*) {
      char* held = cardMemory(512 << 10);
      void* more = nullptr;
      if (cudaMalloc(&more, 768 << 10) != cudaErrorMemoryAllocation) std::exit(4);
      if (!granted) return;
      OK(cudaFree(held));
      OK(cudaMalloc(&more, 768 << 10));
    });
    const auto records = folder.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].cards[0].refused == (granted ? 0 : 768 << 10));
    CHECK(records[0].cards[0].held == (granted ? 0 : 512 << 10));
  }
}

TEST_CASE("a process that uses no card leaves no record, and a fork adds nothing to its parent's") {
  const Folder folder;
  inChild({{"NULLGPU_RECORD", folder.path}}, [&](std::FILE*) {
    int count = 0;
    OK(cudaGetDeviceCount(&count));
  });
  CHECK(folder.records().empty());
  inChild({{"NULLGPU_RECORD", folder.path}}, [&](std::FILE*) {
    cardMemory(100);
    if (fork() == 0) {
      nullgpu_note_allocator(0, 1, 1);
      std::exit(0);
    }
    ::wait(nullptr);
    std::raise(SIGKILL);
  });
  const auto records = folder.records();
  REQUIRE(records.size() == 1);
  CHECK(records[0].ended == 0);
  CHECK(records[0].cards[0].reserved == 0);
}

TEST_CASE("a folder for records that cannot be written ends the process") {
  const Outcome outcome = inChild({{"NULLGPU_RECORD", "/nonexistent"}}, [](std::FILE*) { cardMemory(100); });
  CHECK(outcome.code() == 2);
  CHECK(outcome.mentions("NULLGPU_RECORD=/nonexistent: No such file or directory; name a folder"));
}
