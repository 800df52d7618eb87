#pragma once

// Who holds a results folder, as the lease file says it, and what can be known of that process from here. Private to
// this directory.

#include <cstdint>
#include <string>
#include <string_view>

namespace expc::store {

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

}  // namespace expc::store
