#include "nullgpu/core/machine_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "nullgpu/core/words.h"

namespace nullgpu {
namespace {

constexpr std::array<char, 8> kMark = {'n', 'u', 'l', 'l', 'g', 'p', 'u', '\0'};
constexpr uint32_t kVersion = 1;

/// The system's lock excludes processes and knows no threads. One for all files, since a process has one machine; a
/// fork takes it along, so that it is never held in a child by a thread that is not there.
std::mutex& threads() {
  static auto* const mutex = new std::mutex;
  static const int registered [[maybe_unused]] =
      pthread_atfork([] { threads().lock(); }, [] { threads().unlock(); }, [] { threads().unlock(); });
  return *mutex;
}

/// For the whole file, of the process (not of its forks), and released when it ends in whatever way.
bool setLock(int descriptor, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  int result = 0;
  do result = fcntl(descriptor, F_SETLKW, &lock);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

std::string text(const Description& description) {
  char buffer[128];
  std::snprintf(buffer, sizeof buffer, "%u cards of %llu bytes and capability %u.%u", description.cards,
                static_cast<unsigned long long>(description.memory), description.capability / 10,
                description.capability % 10);
  return buffer;
}

bool sane(const SharedMachine& machine) {
  const Description& description = machine.description;
  if (description.cards > kMostCards) return false;
  for (unsigned card = 0; card < description.cards; ++card) {
    uint64_t used = 0;
    for (const SharedProcess& process : machine.processes) {
      if (process.pid < 0 || process.bytes[card] > description.memory) return false;
      if (process.pid != 0) used += process.bytes[card];
    }
    if (used > description.memory) return false;
  }
  return true;
}

}  // namespace

uint64_t sharedClock() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

MachineFile::Lock::Lock(const MachineFile& file) : descriptor_(file.descriptor_) {
  threads().lock();
  if (!setLock(descriptor_, F_WRLCK)) refuse(file.name_ + " cannot be locked: " + std::strerror(errno));
}

MachineFile::Lock::~Lock() {
  setLock(descriptor_, F_UNLCK);
  threads().unlock();
}

MachineFile::MachineFile(const std::string& path, const Description& description)
    : name_(path.empty() ? "the state of the cards" : "NULLGPU_MACHINE=" + path) {
  if (description.cards > kMostCards)
    refuse("NULLGPU_CARDS=" + std::to_string(description.cards) + ": a machine has at most " +
           std::to_string(kMostCards));
  descriptor_ = path.empty() ? memfd_create("nullgpu-machine", MFD_CLOEXEC)
                             : open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) refuse(name_ + ": " + std::strerror(errno) + "; name a file that can be written, or none");
  const Lock lock(*this);
  struct stat status{};
  fstat(descriptor_, &status);
  if (!S_ISREG(status.st_mode) || (status.st_size != 0 && status.st_size != sizeof(SharedMachine)))
    refuse(name_ + " is no file of null cards; name another, or remove it");
  if (status.st_size == 0 && ftruncate(descriptor_, sizeof(SharedMachine)) != 0)
    refuse(name_ + ": " + std::strerror(errno));
  void* memory = mmap(nullptr, sizeof(SharedMachine), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) refuse(name_ + " cannot be mapped: " + std::strerror(errno));
  shared_ = static_cast<SharedMachine*>(memory);
  // The mark comes last: without it the file is fresh, or whoever was about to make it was killed at that.
  if (shared_->mark == std::array<char, 8>{}) create(description);
  check(description);
}

MachineFile::~MachineFile() {
  munmap(shared_, sizeof(SharedMachine));
  close(descriptor_);
}

void MachineFile::create(const Description& description) {
  shared_->description = description;
  shared_->born = sharedClock();
  shared_->version = kVersion;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // a kill in between leaves no mark over half a description
  shared_->mark = kMark;
}

void MachineFile::check(const Description& description) const {
  if (shared_->mark != kMark || shared_->version != kVersion || !sane(*shared_))
    refuse(name_ + " is no file of null cards, or is damaged; name another, or remove it");
  if (shared_->description != description) {
    refuse(name_ + " has " + text(shared_->description) + ", and this process is told " + text(description) +
           "; set NULLGPU_CARDS, NULLGPU_MEMORY and NULLGPU_CAPABILITY alike for all, or remove the file");
  }
}

}  // namespace nullgpu
