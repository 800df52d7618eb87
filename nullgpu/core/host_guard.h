#pragma once

// A page-locked buffer belongs to a copy from its call until the copy is done. Who changes or frees it in between ends
// the process, with the place of both.

#include <cstddef>
#include <cstdint>
#include <memory>

namespace nullgpu {

/// The calls that lead to a place.
struct Backtrace {
  static constexpr int kMost = 48;
  void* frames[kMost];
  int count = 0;

  static Backtrace here();
  /// On stderr, also from a signal's handler.
  void print() const;
};

/// Watches the host's side of one copy, for as long as the copy waits.
class HostGuard {
 public:
  enum class Side : uint8_t { Read, Written };  // by the copy

  /// @param card the other side.
  HostGuard(const void* host, size_t bytes, Side side, unsigned card);
  ~HostGuard();
  HostGuard(const HostGuard&) = delete;
  HostGuard& operator=(const HostGuard&) = delete;

  /// Before the content is taken, or written: ends the process if it is not what it was when the copy was queued, or if
  /// another copy waits to read what this one writes.
  void check();
  /// The beginning of a message: what the copy is, what was done to its buffer, and where it was queued.
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
  bool watched_ = false;                                // its content is compared
  char *pages_begin_ = nullptr, *pages_end_ = nullptr;  // that cannot be written meanwhile
  uint64_t checksum_ = 0;                               // of what lies outside those pages
};

/// Ends the process if a copy waits for a part of a range: "freed", "unregistered".
void refuseWaiting(const char* begin, size_t bytes, const char* deed);

/// From here on an access of the host to a card's memory, or to a host buffer that a copy waits for, ends the process
/// with a message. Other faults go where they went before.
void catchHostTouches();

/// As long as the result lives, a function of the host waits in a stream, and may write what a copy behind it reads.
std::shared_ptr<void> hostFunctionWaits();

}  // namespace nullgpu
