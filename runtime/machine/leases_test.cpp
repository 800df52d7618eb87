#include "runtime/machine/leases.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "runtime/base/format.h"
#include "tests/support/folder.h"

using namespace expc::machine;

namespace {

using Folder = expc::test::TestFolder;

Slot core(int number) {
  Slot slot;
  slot.cores = {number};
  return slot;
}

Slot card(const std::string& uuid, int core) {
  Slot slot;
  slot.gpu = true;
  slot.uuid = uuid;
  slot.cores = {core};
  return slot;
}

std::string refusal(const std::vector<Slot>& slots, const std::string& folder) {
  std::vector<std::string> notes;
  auto second = DeviceLeases::take(slots, folder, "the second", notes);
  REQUIRE(!second);
  return llvm::toString(second.takeError());
}

}  // namespace

TEST_CASE("a device or a core has one owner, who is named, until he is gone") {
  const Folder folder;
  std::vector<std::string> notes;
  {
    const auto first = llvm::cantFail(DeviceLeases::take({card("GPU-a", 0)}, folder.path, "the first", notes));
    CHECK(refusal({card("GPU-a", 1)}, folder.path).find("GPU-a is in use by the first.") == 0);
    CHECK(refusal({core(0)}, folder.path).find("core 0 is in use by the first.") == 0);
    CHECK(refusal({core(0)}, folder.path).find("--devices") != std::string::npos);
    // Other devices are free.
    llvm::cantFail(DeviceLeases::take({card("GPU-b", 1)}, folder.path, "the second", notes));
  }
  llvm::cantFail(DeviceLeases::take({card("GPU-a", 0), core(0)}, folder.path, "the second", notes));
  CHECK(notes.empty());
}

TEST_CASE("a refused lease holds nothing") {
  const Folder folder;
  std::vector<std::string> notes;
  const auto first = llvm::cantFail(DeviceLeases::take({core(1)}, folder.path, "the first", notes));
  CHECK(refusal({core(0), core(1)}, folder.path).find("core 1 is in use") == 0);
  llvm::cantFail(DeviceLeases::take({core(0)}, folder.path, "the third", notes));
}

TEST_CASE("a killed owner leaves nothing held") {
  const Folder folder;
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t pid = fork();
  if (pid == 0) {
    std::vector<std::string> notes;
    const auto lease = llvm::cantFail(DeviceLeases::take({core(0)}, folder.path, "a child", notes));
    [[maybe_unused]] const ssize_t written = write(ready[1], "x", 1);
    pause();
    _exit(0);
  }
  char byte;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  CHECK(refusal({core(0)}, folder.path).find("core 0 is in use by a child") == 0);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  std::vector<std::string> notes;
  llvm::cantFail(DeviceLeases::take({core(0)}, folder.path, "the next", notes));
  close(ready[0]);
  close(ready[1]);
}

TEST_CASE("a process that does not die holds the devices it had after its engine is gone") {
  const Folder folder;
  std::vector<std::string> notes;
  const pid_t pid = fork();
  if (pid == 0) {
    pause();
    _exit(0);
  }
  {
    const auto lease =
        llvm::cantFail(DeviceLeases::take({card("GPU-a", 0), card("GPU-b", 1)}, folder.path, "x", notes));
    lease.block(card("GPU-a", 0), pid);
  }
  const std::string text = refusal({card("GPU-a", 0), card("GPU-b", 1)}, folder.path);
  CHECK(text.find(fmt::format("GPU-a, core 0 are in use by process {}, which an earlier run killed", pid)) == 0);
  std::vector<Gpu> gpus(2);
  gpus[0].uuid = "GPU-a";
  gpus[1].uuid = "GPU-b";
  putFreeFirst(gpus, folder.path);
  CHECK(gpus[0].uuid == "GPU-b");
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  llvm::cantFail(DeviceLeases::take({card("GPU-a", 0)}, folder.path, "the next", notes));
}

TEST_CASE("where nothing can be locked it is said, and the run goes on") {
  const Folder folder;
  std::vector<std::string> notes;
  llvm::cantFail(DeviceLeases::take({core(0)}, folder.path + "/no/such", "x", notes));
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("another run may use them at the same time") != std::string::npos);
  llvm::cantFail(DeviceLeases::take({core(0)}, "", "x", notes));
  CHECK(notes.size() == 1);
}
