#pragma once

// The record of this process (counters_api.h): what it counts, and where its host waits. With
// NULLGPU_RECORD it is a file that outlives the process; without it, memory of its own.

#include <atomic>
#include <cstdint>

#include "nullgpu/core/counters_api.h"

namespace nullgpu {

/// The record, made at the first call. Thread-safe; the reference stays valid.
nullgpu_record& record();

/// Adds to a member of the record, which several threads may do.
inline void add(uint64_t& to, uint64_t amount = 1) { std::atomic_ref(to).fetch_add(amount, std::memory_order_relaxed); }
/// Reads a member that other threads may change.
inline uint64_t valueOf(const uint64_t& of) {
  return std::atomic_ref(const_cast<uint64_t&>(of)).load(std::memory_order_relaxed);
}

/// Notes the peaks of memory now and then, as the host queues an operation: what runs later would see memory of later
/// steps. Needs the queues' lock.
void recordQueued();
/// Notes that this process holds `bytes` of a card, by the machine's number.
void recordHeld(unsigned card, uint64_t bytes);
/// Notes how a request for memory ended: granted, or refused while all processes held `held` bytes.
void recordGranted(unsigned card, uint64_t bytes);
void recordRefused(unsigned card, uint64_t bytes, uint64_t held);
/// Whether the record is a file, and that of this process and not of the parent of a fork.
bool isRecorded();
/// Marks the record as that of a process whose exit handlers ran.
void recordEnd();

}  // namespace nullgpu
