#pragma once

#include <optional>
#include <string>

#include "compiler/check/check.h"
#include "compiler/driver/console.h"

namespace expc::driver {

/// This machine, as rules with `system` and estimates see it: its slots (`--devices`) count as `gpus`; without a GPU
/// nothing is known of one. Nothing after saying what is wrong with `devices`.
std::optional<check::System> localSystem(const std::string& devices, const Console& console);

/// The machine called `name`: "local", one that the study's file declares or imports ("box", "systems.proxima"), or one
/// of std.systems without its module ("proxima"). Nothing after saying which ones there are.
std::optional<check::System> findSystem(const check::Program& program, const std::string& name,
                                        const std::string& devices, const Console& console);

}  // namespace expc::driver
