#pragma once

// A results folder and its one writer, without file locks (network file systems): a lease file made by link(2), which
// names its holder.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"

namespace expc::store {

/// Why `folder` cannot be written, because of `error` (an errno), in words that say what to do.
llvm::Error cannotWrite(const std::string& folder, int error);
/// Makes `folder` and its parents.
llvm::Error makeFolder(const std::string& folder);

/// Who holds a results folder, as the lease file says it.
struct LeaseHolder {
  std::string host, boot_id, machine_id, pid_namespace;
  int64_t pid = 0;
  uint64_t start_ticks = 0;  // start time of the process, from /proc: tells a reused pid apart
  std::string purpose;       // "run", "rehearse"
  std::string token;         // random: tells one acquisition from another

  static LeaseHolder self(std::string_view purpose);
  /// What a lease file says. One that is cut or damaged has a holder without a name or pid. Texts of it can be printed.
  static LeaseHolder fromText(std::string_view text);
  std::string toText() const;
  /// "process 12 on host a".
  std::string name() const;
};

/// What can be told of a holder without waiting. Elsewhere: it may run where we cannot see it.
enum class Sign { Lives, Gone, Elsewhere };

/// Two machines may have one name, and a machine that was started anew has another boot id, so another boot id alone
/// says that a holder is gone only where no second machine can write to `folder`.
Sign signOf(const LeaseHolder& holder, const std::string& folder);

inline constexpr std::string_view kLeaseName = "expc.lease";

/// When a holder that runs where we cannot see it is believed dead. What counts is what the file server's clock says of
/// two files of its own, and then whether the heartbeat moves while we watch, so no two clocks are compared.
struct LeasePatience {
  double stale_seconds = 120;  // a heartbeat that is this far from now is looked at
  double watch_seconds = 25;   // and does not move for this long: two periods of a heartbeat, and a while
};

/// Held from acquire() to release() or destruction.
class Lease {
 public:
  Lease(Lease&&) = default;
  ~Lease() { release(); }

  /// Takes the lease of `folder`. A stale one is taken over and `messages` says from whom. A live one is refused by an
  /// error that names pid and host.
  static llvm::Expected<Lease> acquire(const std::string& folder, std::string_view purpose,
                                       std::vector<std::string>& messages, LeasePatience patience = LeasePatience());
  /// Does somebody hold it who may live? Never changes anything, so it has this machine's clock alone.
  static bool isLive(const std::string& folder);

  /// Says that we live; an error when the file is not ours any more.
  llvm::Error heartbeat();
  void release();

 private:
  Lease(std::string path, base::Descriptor fd, std::string text)
      : path_(std::move(path)), text_(std::move(text)), fd_(std::move(fd)) {}
  bool ours() const;

  std::string path_, text_;
  base::Descriptor fd_;
  double beat_ = -1;  // by the clock that runs while the machine sleeps
};

}  // namespace expc::store
