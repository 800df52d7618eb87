#pragma once

// For tests of all layers: a rehearsal with something in every field.

#include "runtime/rehearsal/rehearsal.h"

namespace expc::rehearsal {

inline protocol::RehearsedRank exampleRank() {
  protocol::RehearsedRank rank;
  rank.host_memory = 3'000'000'000;
  rank.device_memory_allocated = 10'000'000'000;
  rank.device_memory_reserved = 11'000'000'000;
  rank.launches = 2000;
  rank.synchronisations = 4;
  rank.to_device = {6, 12'000'000};
  rank.from_device = {2, 16};
  rank.within_devices = {10, 4000};
  rank.collectives = {{"all_gather", {128, 1'000'000'000}}, {"all_reduce", {2, 8}}};
  rank.host_seconds = 0.02;
  rank.operations = {{"bf16", 1e15}, {"fp32", 2e10}};
  rank.memory_bytes = 5e11;
  return rank;
}

/// Of a point of this id, which runs on two ranks of four cards; the second rank took less.
inline Point exampleRun(const std::string& id) {
  Point point;
  point.point = id;
  point.label = "precision=bf16 gpus=2";
  point.outcome = Outcome::Runs;
  protocol::RehearsedRank second = exampleRank();
  second.device_memory_allocated = 9'000'000'000;
  second.launches = 1990;
  point.rehearsed = protocol::Rehearsed{2, {exampleRank(), second}};
  point.estimates = {{"device_memory_peak", 9.8e9}};
  point.cards = {4, 94'000'000'000};
  point.worker_build = "build";
  point.at = 1.7e9;
  point.seconds = 12.5;
  point.notes = {"a note"};
  return point;
}

/// Of one that ended so, for this reason.
inline Point exampleEnd(const std::string& id, Outcome outcome, const std::string& reason) {
  Point point = exampleRun(id);
  point.outcome = outcome;
  point.reason = reason;
  point.rehearsed.reset();
  return point;
}

}  // namespace expc::rehearsal
