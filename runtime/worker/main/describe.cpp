#include "runtime/plan/trial.h"
#include "runtime/worker/main/worker_main.h"
#include "runtime/worker/serve/serve.h"

namespace expc::worker {
namespace {

llvm::json::Value describeOne(const workload::Workload& workload) {
  llvm::json::Array params, metrics;
  for (const auto& param : workload.params) {
    llvm::json::Object described{{"name", param.name}, {"type", param.type}, {"default", param.value}};
    if (!param.built.empty()) described["built"] = llvm::json::Array(param.built);
    if (!param.one_process.empty()) described["one_process"] = llvm::json::Array(param.one_process);
    params.push_back(std::move(described));
  }
  for (const auto& metric : workload.metrics) {
    metrics.push_back(llvm::json::Object{{"name", metric.name},
                                         {"dimension", metric.dimension},
                                         {"better", metric.better},
                                         {"kind", std::string(plan::toString(metric.kind))},
                                         {"exact", metric.exact},
                                         {"series", metric.series},
                                         {"built", metric.built}});
  }
  return llvm::json::Object{{"name", workload.name},
                            {"version", workload.version},
                            {"params", std::move(params)},
                            {"metrics", std::move(metrics)}};
}

}  // namespace

llvm::json::Value describe(const std::vector<workload::Workload>& workloads,
                           const std::vector<device::Backend>& backends) {
  llvm::json::Object libraries;
  llvm::json::Array devices, described;
  for (const auto& backend : backends) {
    backend.libraries(libraries);
    devices.push_back(std::string(backend.name));
  }
  for (const auto& workload : workloads) described.push_back(describeOne(workload));
  return llvm::json::Object{{"v", plan::kTrialVersion},
                            {"build", serve::executableDigest()},
                            {"libraries", std::move(libraries)},
                            {"devices", std::move(devices)},
                            {"workloads", std::move(described)}};
}

}  // namespace expc::worker
