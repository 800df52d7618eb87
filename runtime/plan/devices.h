#pragma once

#include "runtime/plan/plan.h"

namespace expc::plan {

/// How many devices a point takes: its parameter `gpus`, else 1.
unsigned devicesOf(const Point& point);

}  // namespace expc::plan
