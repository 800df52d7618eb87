#include "runtime/worker/main/worker_main.h"
#include "runtime/worker/workload/image/mobilenet_v2.h"
#include "runtime/worker/workload/llm/finetune.h"

namespace expc::worker {

std::vector<workload::Workload> registeredWorkloads() {
  return {workload::image::mobilenetV2(), workload::llm::finetune()};
}

}  // namespace expc::worker
