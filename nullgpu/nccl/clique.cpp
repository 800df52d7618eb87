// Meeting of ranks in a file. The file holds, one after another: the header, a seat per rank, a
// board per rank and lane, the slots of chunks, and a channel per pair of ranks and lane. A new
// file is all zeros, which every part takes for "not yet", so no rank has to initialise it for the
// others.

#include "nullgpu/nccl/clique.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "nullgpu/core/process.h"

namespace nullgpu::nccl {

/// The first page of the file.
struct Clique::Header {
  std::atomic<uint32_t> ranks, arrived;
  /// Another number of ranks that somebody expected; 0 if all agree.
  std::atomic<uint32_t> other_ranks;
  /// One more than the rank that came twice; 0 if none did.
  std::atomic<uint32_t> twice;
  /// 0: none. 1: somebody is writing the text. 2: the text is complete.
  std::atomic<uint32_t> complaint;
  char text[1024];
};

/// A rank's entry: who it is.
struct Clique::Seat {
  std::atomic<uint32_t> taken;
  int32_t process;
  uint32_t card;  // the machine's number of the rank's card
};

namespace {

/// Begins each unique id, so that ids of another NCCL are recognised.
constexpr char kMark[] = "null GPU:";

// The places of the parts in the file, in bytes; each begins on a page.
constexpr size_t kSeatsAt = 4096;
size_t boardsAt(unsigned ranks) { return inPages(kSeatsAt + ranks * 3 * sizeof(uint32_t)); }
size_t slotsAt(unsigned ranks) { return inPages(boardsAt(ranks) + kLanes * ranks * sizeof(Board)); }
size_t channelsAt(unsigned ranks) { return slotsAt(ranks) + kLanes * ranks * Clique::kSlots * Clique::kSlotBytes; }
size_t bytesFor(unsigned ranks) {
  return inPages(channelsAt(ranks) + kLanes * size_t(ranks) * ranks * sizeof(Channel));
}

/// The folder for the files: shared memory if the system has it.
std::string folder() {
  if (access("/dev/shm", W_OK | X_OK) == 0) return "/dev/shm";
  const char* temporary = getenv("TMPDIR");
  return temporary && *temporary ? temporary : "/tmp";
}

/// Begins the files' names; the user's id keeps users apart.
std::string prefix() { return joined("nullgpu-nccl-", geteuid(), "-"); }

/// Removes files that were left behind. Whoever waits for others holds a shared lock on its file,
/// so an exclusive lock is granted only on a file that nobody uses.
void removeLeft(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (!entry.path().filename().string().starts_with(prefix())) continue;
    const int file = open(entry.path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) continue;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) unlink(entry.path().c_str());
    close(file);
  }
}

/// The file that an id names. Throws Failure for an id of another NCCL.
std::string pathOf(const ncclUniqueId& id) {
  const std::string text(id.internal, strnlen(id.internal, sizeof(id.internal)));
  if (!text.starts_with(kMark))
    throw Failure(ncclInvalidArgument,
                  "the unique id is not one of the null GPU's NCCL: every rank must load the same libnccl.so.2");
  return text.substr(strlen(kMark));
}

/// Opens the file under a shared lock. removeLeft() may remove it between open and lock; a file
/// without links is therefore opened again.
int openLocked(const std::string& path) {
  while (true) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat status{};
    if (file < 0 || flock(file, LOCK_SH) != 0 || fstat(file, &status) != 0)
      throw Failure(ncclSystemError, path,
                    ", where the ranks of a communicator meet, cannot be opened: ", strerror(errno));
    if (status.st_nlink > 0) return file;
    close(file);
  }
}

}  // namespace

// 128 random bits make the name unique without asking anybody.
ncclUniqueId newId() {
  const std::string place = folder();
  removeLeft(place);
  unsigned char random[16];
  if (getrandom(random, sizeof(random), 0) != ssize_t(sizeof(random)))
    throw Failure(ncclSystemError, "no random numbers for a unique id: ", strerror(errno));
  std::string text = kMark + place + "/" + prefix();
  for (const unsigned char byte : random) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  ncclUniqueId id{};
  if (text.size() >= sizeof(id.internal))
    throw Failure(ncclSystemError, place,
                  " is too long a name for the place where ranks meet; set TMPDIR to a shorter one");
  memcpy(id.internal, text.data(), text.size());
  return id;
}

Clique::Clique(const ncclUniqueId& id, unsigned ranks, unsigned rank, unsigned card)
    : path_(pathOf(id)), ranks_(ranks), rank_(rank), bytes_(bytesFor(ranks)) {
  file_ = openLocked(path_);
  // Allocate everything now. If memory ran out later, a touched page would raise SIGBUS, not an
  // error.
  if (const int error = posix_fallocate(file_, 0, off_t(bytes_)); error != 0) {
    leave();
    throw Failure(ncclSystemError, "no ", bytes_, " bytes for ", path_, ", the memory that ", ranks,
                  " ranks share: ", strerror(error), " (a container's /dev/shm grows with its option --shm-size)");
  }
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (memory == MAP_FAILED) {
    leave();
    throw Failure(ncclSystemError, path_, " cannot be mapped: ", strerror(errno));
  }
  memory_ = static_cast<std::byte*>(memory);
  claim(card);
}

Clique::~Clique() {
  leave();
  if (memory_) munmap(memory_, bytes_);
}

/// A rank that leaves before all have met will not come back, so the communicator cannot come about
/// and the name is of no use any more.
void Clique::leave() {
  if (file_ < 0) return;
  if (!met_) unlink(path_.c_str());
  close(file_);
  file_ = -1;
}

void Clique::claim(unsigned card) {
  // The first rank writes the number of ranks; the others compare.
  uint32_t expected = 0;
  if (!header().ranks.compare_exchange_strong(expected, ranks_) && expected != ranks_) {
    header().other_ranks = ranks_;
    return;  // met() reports it
  }
  if (seat(rank_).taken.exchange(1) != 0) {
    header().twice = rank_ + 1;
    return;
  }
  seat(rank_).card = card;
  seat(rank_).process = getpid();
  // The last to come removes the name; the memory stays as long as it is mapped.
  if (header().arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks_) unlink(path_.c_str());
}

bool Clique::met() {
  if (met_) return true;
  if (const uint32_t other = header().other_ranks; other != 0)
    throw Failure(ncclInvalidUsage, "the ranks of a communicator disagree on their number: ", header().ranks, " and ",
                  other);
  if (const uint32_t twice = header().twice; twice != 0)
    throw Failure(ncclInvalidUsage, "rank ", twice - 1, " of a communicator of ", ranks_, " came twice");
  if (header().arrived.load(std::memory_order_acquire) < ranks_) return false;
  met_ = true;
  leave();
  lookAtOthers();
  return true;
}

/// Throws Failure if two ranks use one card: NCCL refuses it too.
void Clique::lookAtOthers() {
  for (unsigned rank = 0; rank < ranks_; ++rank)
    shared_ = shared_ || (rank != rank_ && seat(rank).process == seat(rank_).process);
  for (unsigned second = 1; second < ranks_; ++second)
    for (unsigned first = 0; first < second; ++first)
      if (seat(first).card == seat(second).card)
        throw Failure(ncclInvalidUsage, "rank ", first, " and rank ", second, " of a communicator are both on card ",
                      seat(first).card, "; each rank needs a card of its own");
}

Clique::Header& Clique::header() const { return *reinterpret_cast<Header*>(memory_); }
Clique::Seat& Clique::seat(unsigned rank) const { return reinterpret_cast<Seat*>(memory_ + kSeatsAt)[rank]; }

Board& Clique::board(Lane lane, unsigned rank) const {
  return reinterpret_cast<Board*>(memory_ + boardsAt(ranks_))[lane * ranks_ + rank];
}

std::byte* Clique::slot(Lane lane, unsigned rank, uint64_t chunk) const {
  return memory_ + slotsAt(ranks_) + ((lane * ranks_ + rank) * kSlots + chunk % kSlots) * kSlotBytes;
}

Channel& Clique::channel(Lane lane, unsigned from, unsigned to) const {
  const size_t number = (size_t(lane) * ranks_ + from) * ranks_ + to;
  return reinterpret_cast<Channel*>(memory_ + channelsAt(ranks_))[number];
}

bool Clique::all(Lane lane, Counter Board::* counter, uint64_t number) const {
  for (unsigned rank = 0; rank < ranks_; ++rank)
    if ((board(lane, rank).*counter).now() < number) return false;
  return true;
}

/// The exchange lets one rank write the text; the release makes it visible before the flag.
void Clique::complain(const std::string& text) {
  uint32_t none = 0;
  if (!header().complaint.compare_exchange_strong(none, 1)) return;
  strncpy(header().text, text.c_str(), sizeof(header().text) - 1);
  header().complaint.store(2, std::memory_order_release);
}

std::string Clique::complaint() const {
  return header().complaint.load(std::memory_order_acquire) == 2 ? header().text : "";
}

}  // namespace nullgpu::nccl
