#pragma once

#include "runtime/base/interval.h"

namespace expc::stats {

using base::Interval;

}  // namespace expc::stats
