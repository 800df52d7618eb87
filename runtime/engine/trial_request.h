#pragma once

// What a trial of a run is launched with. Private to this directory.

#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/engine/launcher.h"
#include "runtime/engine/setup.h"
#include "runtime/engine/traces.h"
#include "runtime/store/records.h"

namespace expc::engine {

/// The slots of a trial, of its lane's: the same for all trials of a block with as many devices.
std::vector<unsigned> slotsOf(const LaneDevices& lane, const store::Block& block, const plan::Point& point);

/// The lane on each node that a trial of the point takes.
std::vector<const LaneDevices*> partsOf(const LaneDevices& lane, const plan::Point& point);

/// With what runs at the point, under that name.
TrialRequest requestFor(const Setup& setup, const plan::Point& point, std::string trial, plan::TrialKind kind,
                        uint64_t seed);

/// `trial` has its number, key and limit.
TrialRequest trialRequest(const Setup& setup, const EngineOptions& options, const Traces& traces,
                          const LaneDevices& lane, const store::Block& block, const plan::Point& point,
                          const store::Trial& trial);

/// The folder that the preparation of a point's command fills, below `results`; "" where the command has none. Points
/// that tell the preparation the same have the same folder, as long as the program, the inputs and the data that it is
/// told of stay what they are.
std::string preparedFolder(const Setup& setup, const plan::Point& point, const std::string& results);

/// The folder of what ranks print, made if it is not there.
std::string logFolder(const std::string& results);

}  // namespace expc::engine
