#pragma once

#include "runtime/plan/plan.h"

namespace expc::plan {

/// How many devices a point takes, on all its nodes: its parameter `gpus`, else one on each of `nodes`, else 1.
unsigned devicesOf(const Point& point);

/// How many nodes a point takes: its parameter `nodes`; 0: it says nothing of them.
unsigned nodesOf(const Point& point);

/// The same where each node has `each` devices: as few as have its devices, where it does not say how many.
unsigned nodesOf(const Point& point, unsigned each);

}  // namespace expc::plan
