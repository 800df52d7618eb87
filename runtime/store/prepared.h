#pragma once

// What a preparation leaves for the trials of a command, which is theirs as a program of the user's is.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace expc::store {

/// Arguments of the point's command; what each trial has of its own stays as `${seed}`.
std::vector<std::string> argumentsAt(const plan::Point& point, const std::vector<std::string>& arguments);

/// The folder that the preparation of a point's command fills, below the results folder; "" where the command has none.
/// Points that tell the preparation the same have the same folder, as long as the program, the inputs and the data that
/// it is told of stay what `digests` say.
std::string preparedFolder(const plan::Plan& plan, const plan::Point& point,
                           const std::map<std::string, std::string>& digests);

/// Paths below that folder that arguments of the command, and of what runs before it, name: below the results folder,
/// and the keys in Match::data_digests of those that are files. There "" is the digest of one that nobody has seen yet.
std::set<std::string> preparedFilesOf(const plan::Plan& plan, const plan::Point& point,
                                      const std::map<std::string, std::string>& digests);

}  // namespace expc::store
