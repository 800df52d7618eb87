// The record and its file. A file that cannot be made ends the process, since whoever asked for it
// would otherwise take the missing record for a program without CUDA.

#include "nullgpu/core/record.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/words.h"

namespace nullgpu {
namespace {

std::atomic<bool> is_made{false};

/// Maps a new file in the folder.
nullgpu_record* inFile(const std::string& folder) {
  std::string name = folder + "/XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  const auto refuseFile = [&] {
    refuse("NULLGPU_RECORD=", folder, ": ", std::strerror(errno), "; name a folder that can be written, or none");
  };
  if (file < 0 || ftruncate(file, sizeof(nullgpu_record)) != 0) refuseFile();
  void* memory = mmap(nullptr, sizeof(nullgpu_record), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) refuseFile();
  close(file);
  return static_cast<nullgpu_record*>(memory);
}

nullgpu_record* make() {
  static nullgpu_record own;
  const std::string& folder = configuration().record;
  nullgpu_record* made = folder.empty() ? &own : inFile(folder);
  made->size = sizeof(nullgpu_record);
  made->stride = 1;
  made->pid = getpid();
  const char* rank = std::getenv("RANK");
  const auto number = rank ? wholeNumber(rank) : std::nullopt;
  made->rank = number ? int64_t(*number) : -1;
  // The words of a command line end with nulls.
  std::ifstream file("/proc/self/cmdline");
  file.read(made->program, sizeof made->program - 1);
  std::replace(std::begin(made->program), std::begin(made->program) + std::max<std::streamsize>(file.gcount() - 1, 0),
               '\0', ' ');
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(made->mark, NULLGPU_RECORD_MARK, sizeof made->mark);
  is_made = true;
  return made;
}

/// Whether the record is this process's and not that of the parent of a fork.
bool isOwn() { return record().pid == getpid(); }

}  // namespace

nullgpu_record& record() {
  static nullgpu_record& made = *make();
  return made;
}

void recordQueued() {
  static uint64_t queued = 0;
  nullgpu_record& own = record();
  if (++queued % own.stride != 0) return;
  if (own.sampled == NULLGPU_RECORD_SAMPLES) {
    own.stride *= 2;
    own.sampled /= 2;
    for (uint64_t kept = 0; kept < own.sampled; ++kept) own.samples[kept] = own.samples[2 * kept + 1];
    if (queued % own.stride != 0) return;
  }
  uint64_t peaks = 0;
  for (const nullgpu_card_record& card : own.cards) peaks += valueOf(card.peak);
  own.samples[own.sampled++] = peaks;
}

void recordHeld(unsigned card, uint64_t bytes) {
  nullgpu_card_record& of = record().cards[card];
  of.opened = 1;
  of.peak = std::max(of.peak, bytes);
}

void recordGranted(unsigned card, uint64_t bytes) {
  nullgpu_card_record& of = record().cards[card];
  if (of.refused != 0 && bytes >= of.refused) of.refused = of.held = 0;
}

void recordRefused(unsigned card, uint64_t bytes, uint64_t held) {
  nullgpu_card_record& of = record().cards[card];
  of.opened = 1;
  of.refused = bytes;
  of.held = held;
}

bool isRecorded() { return !configuration().record.empty() && isOwn(); }

void recordEnd() {
  // A process that never counted anything, such as a launcher, needs no record for its end.
  if (is_made && isOwn()) record().ended = 1;
}

}  // namespace nullgpu

using namespace nullgpu;

void nullgpu_note_allocator(unsigned card, uint64_t allocated, uint64_t reserved) {
  if (!isOwn() || card >= visibleCards().size()) return;
  nullgpu_card_record& of = record().cards[visibleCards()[card]];
  of.allocated = allocated;
  of.reserved = reserved;
}

void nullgpu_note_owners(unsigned card, const uint64_t* bytes) {
  if (isOwn() && card < visibleCards().size())
    std::copy_n(bytes, NULLGPU_OWNERS, record().cards[visibleCards()[card]].owners);
}
