#pragma once

#include <cstddef>
#include <optional>

#include "runtime/plan/plan.h"

namespace expc::report {

struct PublishedTime {
  double seconds = 0, device_seconds = 0;  // of all trials of a plan that are known, one after the other
  size_t known = 0, of = 0;                // kinds of trial, over the points that start
};

/// How long the trials take if they take what references publish of their points: the time of an epoch, of a step or of
/// an image. Nothing where none is published.
std::optional<PublishedTime> publishedTime(const plan::Plan& plan);

}  // namespace expc::report
