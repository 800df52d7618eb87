#pragma once

// Divides a machine into the slots that trials run on, and says which slots make the same measurement.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/machine/machine.h"

namespace expc::machine {

/// The slots of `machine`. `devices` as in `--devices`: "" for the GPUs if there are any, else CPU slots, one for each
/// physical core and at most four; "N" for the first N of these (more CPU slots than four, if asked for, up to the
/// cores); "cpu:N" for N CPU slots even where there are GPUs. CPU slots share the allowed cores in equal contiguous
/// parts; what is left over belongs to none. The error says what is possible, or that null cards were asked for and
/// there are none.
llvm::Expected<std::vector<Slot>> slots(const Machine& machine, std::string_view devices = "");

/// Share number `index` of `parts` equal contiguous parts of `cores`. What is left over where it does not divide is in
/// none, so that no part is better than another. With more parts than cores, cores are shared.
std::vector<int> share(const std::vector<int>& cores, unsigned index, unsigned parts);

/// Where a rank's cores and memory are, seen from its device: parameter `numa`.
enum class Place {
  Near,  // the slot's own cores, and the memory next to them
  Any,   // wherever the system puts it
  Far    // as many cores of the next socket, and its memory
};

/// The slot with cores, threads and memory nodes set for `place`. Nothing where Far is asked for and there is no other
/// socket, or the slot's cores are on several already.
std::optional<Slot> placed(const Machine& machine, const Slot& slot, Place place);

/// A stable hash (16 hex digits) of what must agree for two trials to be the same measurement: slots and how GPUs among
/// them are joined, driver, CPU model and the worker's libraries (as `expc-worker --describe` gives them). Host names
/// and boots are no part of it.
/// `beside`: as many trials run at once, each on such slots.
std::string environmentClass(const Machine& machine, const std::vector<Slot>& slots, const llvm::json::Value& libraries,
                             unsigned beside = 1);

/// One line for people: "AMD EPYC, 2 cores, 23 GiB; 2 CPU slots of 1 core".
std::string summary(const Machine& machine, const std::vector<Slot>& slots);

}  // namespace expc::machine
