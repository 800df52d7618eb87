#include "runtime/worker/workload/declared/declared.h"

namespace expc::workload {

llvm::json::Value toJson(const Declared& workload) {
  llvm::json::Array params, metrics;
  for (const Param& param : workload.params) {
    llvm::json::Object described{{"name", param.name}, {"type", param.type}, {"default", param.value}};
    if (!param.one_process.empty()) described["one_process"] = llvm::json::Array(param.one_process);
    params.push_back(std::move(described));
  }
  for (const Metric& metric : workload.metrics)
    metrics.push_back(llvm::json::Object{{"name", metric.name}, {"kind", std::string(plan::toString(metric.kind))}});
  return llvm::json::Object{{"name", workload.name},
                            {"version", workload.version},
                            {"params", std::move(params)},
                            {"metrics", std::move(metrics)}};
}

}  // namespace expc::workload
