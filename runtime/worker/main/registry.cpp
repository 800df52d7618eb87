#include "runtime/worker/main/worker_main.h"
#include "runtime/worker/workload/image/mobilenet_v2.h"

namespace expc::worker {

std::vector<workload::Workload> registeredWorkloads() { return {workload::image::mobilenetV2()}; }

}  // namespace expc::worker
