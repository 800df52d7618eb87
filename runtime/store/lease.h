#pragma once

// The lease of a results folder: it lets one process write. File locks cannot be trusted on network file systems,
// so the lease is a file made by link(2), which is atomic everywhere, and it names its holder. The protocol is
// explained in docs/layers/store.md ("One writer, without file locks").

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/llvm.h"

namespace expc::store {

/// The holder of a results folder, as the lease file describes it.
struct LeaseHolder {
  std::string host, boot_id, machine_id, pid_namespace;
  int64_t pid = 0;
  uint64_t start_ticks = 0;  // start time of the process, from /proc: tells a reused pid apart
  std::string purpose;       // "run", "rehearse"
  std::string token;         // random: tells one acquisition from another

  /// This process.
  static LeaseHolder self(std::string_view purpose);
  /// Reads a lease file. A cut or damaged one gives a holder without name and pid. Its texts are safe to print.
  static LeaseHolder fromText(std::string_view text);
  /// The content of a lease file: one JSON object.
  std::string toText() const;
  /// "process 12 on host a".
  std::string name() const;
};

/// Signs of life of a holder that can be seen without waiting. Elsewhere: it may run where we cannot see it.
enum class Sign { Lives, Gone, Elsewhere };

/// Judges a holder. A machine that was restarted has another boot id; but two machines may have one name, so
/// another boot id means "gone" only if no second machine can write to `folder`.
Sign signOf(const LeaseHolder& holder, const std::string& folder);

/// The lease file's name, in the results folder.
inline constexpr std::string_view kLeaseName = "expc.lease";

/// When a holder that runs where we cannot see it is believed dead. Both conditions must hold. The times compared
/// are all the file server's, or all this machine's, so clocks of two machines are never compared.
struct LeasePatience {
  double stale_seconds = 120;  // a heartbeat this far from the server's now is suspicious
  double watch_seconds = 25;   // and must not move for this long: two heartbeats and a margin
};

/// A lease that this process holds, from acquire() until release() or destruction.
class Lease {
 public:
  Lease(Lease&&) = default;
  ~Lease() { release(); }

  /// Takes the lease of `folder`. Takes over a stale one, and says so in `messages`. A live one is an error that
  /// names its process and host. May wait for LeasePatience::watch_seconds.
  static Expected<Lease> acquire(const std::string& folder, std::string_view purpose,
                                 std::vector<std::string>& messages, LeasePatience patience = LeasePatience());
  /// Whether a process that may live holds the lease. Changes nothing, so it has only this machine's clock to
  /// compare with.
  static bool isLive(const std::string& folder);

  /// Renews the sign of life; fails if the file is not ours any more.
  Error heartbeat();
  /// Removes the lease file if it is ours. Does nothing when called again.
  void release();

 private:
  Lease(std::string path, Descriptor fd, std::string text)
      : path_(std::move(path)), text_(std::move(text)), fd_(std::move(fd)) {}
  bool ours() const;

  std::string path_, text_;
  Descriptor fd_;
  double beat_ = -1;  // last renewal, by the clock that runs while the machine sleeps
};

}  // namespace expc::store
