#include "runtime/worker/main/worker_main.h"
#include "runtime/worker/workload/image/training.h"
#include "runtime/worker/workload/llm/training.h"

namespace expc::worker {

std::vector<workload::Workload> registeredWorkloads() {
  return {workload::image::mobilenetV2(), workload::llm::finetune()};
}

}  // namespace expc::worker
