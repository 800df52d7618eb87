#pragma once

// What runs once for several trials of a command: a build, a download. Private to this directory.

#include <string>

#include "runtime/engine/setup.h"

namespace expc::engine {

/// The folder that the preparation of a point's command fills, below `results`; "" where the command has none. Points
/// that tell the preparation the same have the same folder, as long as the program, the inputs and the data that it is
/// told of stay what they are.
std::string preparedFolder(const Setup& setup, const plan::Point& point, const std::string& results);

}  // namespace expc::engine
