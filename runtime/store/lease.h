#pragma once

// One writer for a results folder, without file locks (network file systems): a lease file made by link(2), which names
// its holder.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace expc::store {

inline constexpr std::string_view kLeaseName = "expc.lease";
/// A holder on another host (or in another PID namespace) is believed dead when its heartbeat is older.
inline constexpr double kLeaseStaleSeconds = 120;

struct LeaseHolder {
  std::string host, boot_id, pid_namespace;
  int64_t pid = 0;
  uint64_t start_ticks = 0;  // start time of the process, from /proc: tells a reused pid apart
  std::string purpose;       // "run", "report"
  double heartbeat = 0;      // Unix time: the file's modification time
  static LeaseHolder self(std::string_view purpose);
};

/// Held from acquire() to release() or destruction.
class Lease {
 public:
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();

  /// Takes the lease of `folder`. A stale one is taken over and `messages` says from whom. A live one is refused by an
  /// error that names pid and host; a reader's (purpose "report", held for milliseconds) is waited for.
  static llvm::Expected<Lease> acquire(const std::string& folder, std::string_view purpose,
                                       std::vector<std::string>& messages);
  /// Is a live process holding it? Never changes anything.
  static bool isLive(const std::string& folder);

  /// Sets the heartbeat to now; an error when the file is not ours any more.
  llvm::Error heartbeat();
  void release();

 private:
  Lease(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  bool ours() const;

  std::string path_;
  int fd_ = -1;
};

}  // namespace expc::store
