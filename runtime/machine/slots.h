#pragma once

// Divides a machine into the slots that trials run on, places a slot's cores and memory for the parameter `numa`, and
// says by environment classes which slots make comparable measurements.

#include <llvm/Support/JSON.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/machine/machine.h"

namespace expc::machine {

/// The slots of `machine` that `devices`, the value of `--devices`, names:
/// - "": the GPUs if there are any, else CPU slots, one for each physical core and at most four;
/// - "N": the first N GPUs, or N CPU slots, up to the number of cores;
/// - "cpu:N": N CPU slots even if there are GPUs, and more than cores if asked for.
///
/// CPU slots share the allowed cores in equal contiguous parts; cores that are left over belong to none. Error: there
/// are not so many (the message says what is possible), or null cards were asked for and there are none.
Expected<std::vector<Slot>> slots(const Machine& machine, std::string_view devices = "");

/// Part number `index` of `parts` equal contiguous parts of `cores`. A remainder belongs to no part, so that no part is
/// better than another. With more parts than cores, each part is one core, and parts share cores.
std::vector<int> share(const std::vector<int>& cores, unsigned index, unsigned parts);

/// The position of a rank's cores and memory relative to its device; the parameter `numa`.
enum class Placement {
  Near,  // the slot's own cores, and the memory next to them
  Any,   // wherever the kernel puts it
  Far    // as many cores of the next socket, and the memory there
};

/// The slot with cores, threads and memory nodes set for `place`. Nothing if Far is asked for and there is no other
/// socket, or if the slot's cores are on several sockets.
std::optional<Slot> placed(const Machine& machine, const Slot& slot, Placement place);

/// The environment class: a stable hash (BLAKE3, 16 hex digits) of everything that must be equal for two trials to be
/// comparable. It covers the slots and how GPUs among them are joined, driver, CPU model and the worker's libraries
/// (from `expc-worker --describe`), but not host names and boots. `beside`: number of trials that run at once, each on
/// such slots.
///
/// A change of this function makes all stored trials incomparable with new ones.
std::string environmentClass(const Machine& machine, const std::vector<Slot>& slots, const json::Value& libraries,
                             unsigned beside = 1);

/// A line for people: "AMD EPYC, 2 cores, 23 GiB; 2 CPU devices of 1 core".
std::string summary(const Machine& machine, const std::vector<Slot>& slots);

}  // namespace expc::machine
