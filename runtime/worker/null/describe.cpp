#include <llvm/Support/JSON.h>

#include "runtime/worker/null/idle.h"
#include "runtime/worker/serve/serve.h"

namespace expc::null {
namespace {

llvm::json::Object param(llvm::StringRef name, llvm::StringRef type, llvm::json::Value value) {
  return llvm::json::Object{{"name", name}, {"type", type}, {"default", std::move(value)}};
}

llvm::json::Object metric(llvm::StringRef name, llvm::StringRef dimension, llvm::StringRef better, llvm::StringRef kind,
                          bool exact = false) {
  return llvm::json::Object{
      {"name", name}, {"dimension", dimension}, {"better", better}, {"kind", kind}, {"exact", exact}};
}

}  // namespace

llvm::json::Value describe() {
  llvm::json::Array params{param("duration", "Time", 0.01),  param("step", "Time", 0.01),
                           param("noise", "float", 0.01),    param("quality", "float", 0.9),
                           param("gpus", "int", 1),          param("nodes", "int", 0),
                           param("data", "source", nullptr), param("fault", "fault", "none"),
                           param("fault_rank", "int", 0),    param("fault_rate", "float", 1.0)};
  llvm::json::Array metrics{
      metric("step_time", "time", "lower", "timed"), metric("startup_time", "time", "lower", "timed"),
      metric("device_memory_peak", "bytes", "lower", "timed", true), metric("accuracy", "share", "higher", "quality"),
      metric("profiled_time", "time", "lower", "profile")};
  return llvm::json::Object{{"v", plan::kTrialVersion},
                            {"build", serve::executableDigest()},
                            {"libraries", llvm::json::Object{}},
                            {"workloads", llvm::json::Array{llvm::json::Object{{"name", std::string(kWorkload)},
                                                                               {"version", kWorkloadVersion},
                                                                               {"params", std::move(params)},
                                                                               {"metrics", std::move(metrics)}}}}};
}

}  // namespace expc::null
