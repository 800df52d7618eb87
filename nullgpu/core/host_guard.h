#pragma once

// A page-locked buffer belongs to an asynchronous copy from the call until the copy is done. A
// program that changes or frees it in between has a bug that real GPUs show rarely and only as
// wrong numbers. Here it ends the process, with a backtrace of both places: the copy's call and the
// access.
//
// Two means find it. Whole pages of a large buffer are write-protected, so the culprit faults at
// its place. The edges, and small buffers, have a checksum, which finds a change only when the copy
// begins.

#include <cstddef>
#include <cstdint>
#include <memory>

namespace nullgpu {

/// The calls that lead to a place in the program.
struct Backtrace {
  static constexpr int kMost = 48;
  void* frames[kMost];
  int count = 0;

  /// The backtrace of the caller.
  static Backtrace here();
  /// Prints the frames on stderr. Safe in a signal handler.
  void print() const;
};

/// Watches the host's side of one copy, from the call until the copy is done. Destruction ends the
/// watch.
class HostGuard {
 public:
  /// Whether the copy reads the buffer or writes it.
  enum class Side : uint8_t { Read, Written };

  /// Starts to watch. The place of the call is that of the constructor.
  /// @param host the buffer; it is watched only if all of it is page-locked
  /// @param card the other side of the copy, for the message
  HostGuard(const void* host, size_t bytes, Side side, unsigned card);
  ~HostGuard();
  HostGuard& operator=(HostGuard&&) = delete;

  /// Checks the buffer just before the copy uses it. Ends the process if the content differs from
  /// that at the copy's call, or if this copy would write what another waiting copy is to read.
  void check();
  /// Prints the beginning of a message: the copy, what was done to its buffer (`deed`: "freed"),
  /// and where it was queued.
  void tell(const char* deed) const;

 private:
  friend class Guards;
  void protect();
  void unprotect();
  uint64_t checksum() const;
  bool overlaps(const char* begin, size_t bytes) const { return begin < host_ + bytes_ && host_ < begin + bytes; }

  const char* host_;
  size_t bytes_;
  Side side_;
  unsigned card_;
  Backtrace place_;
  /// The content is protected and compared.
  bool watched_ = false;
  /// The pages that are write-protected meanwhile; null if none are.
  char *pages_begin_ = nullptr, *pages_end_ = nullptr;
  /// Checksum of the content outside those pages.
  uint64_t checksum_ = 0;
};

/// Ends the process if a copy waits for any part of the range. Called before the range is released;
/// `deed` says how: "freed", "unregistered".
void refuseWaiting(const char* begin, size_t bytes, const char* deed);

/// Installs the handler of SIGSEGV: an access of the host to a card's memory, or a write to a
/// buffer that a copy waits for, ends the process with a message. All other faults go to the
/// handler that was there before.
void catchHostTouches();

/// Suspends comparisons as long as the result lives: a function of the host waits in a stream and
/// may rightly write what a copy behind it reads.
std::shared_ptr<void> hostFunctionWaits();

}  // namespace nullgpu
