#pragma once

#include "runtime/worker/workload/workload.h"

namespace expc::workload::image {

/// image.mobilenet_v2 of stdlib/image.exp.
Workload mobilenetV2();

}  // namespace expc::workload::image
