#include "runtime/worker/profile/trace.h"

#include <torch/csrc/autograd/profiler_kineto.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace expc::profile {
namespace {

using torch::profiler::impl::ActivityType;

std::atomic<bool> tracing{false};

}  // namespace

bool isTracing() { return tracing.load(std::memory_order_relaxed); }

void startTrace(bool gpu) {
  using torch::profiler::impl::ProfilerConfig;
  using torch::profiler::impl::ProfilerState;
  std::set<ActivityType> activities{ActivityType::CPU};
  if (gpu) activities.insert(ActivityType::CUDA);
  const ProfilerConfig config(ProfilerState::KINETO, /*report_input_shapes=*/true);
  torch::autograd::profiler::prepareProfiler(config, activities);
  // All scopes: operators, backward functions and our ranges.
  torch::autograd::profiler::enableProfiler(config, activities);
  tracing = true;
}

llvm::Error finishTrace(const std::string& path) {
  tracing = false;
  const auto result = torch::autograd::profiler::disableProfiler();
  // Kineto says nothing when it cannot write.
  const auto failed = [&](const char* what) {
    return llvm::createStringError("the trace " + path + ": " + what + " (--trace names its folder)");
  };
  if (access(path.c_str(), F_OK) == 0 && unlink(path.c_str()) != 0) return failed(std::strerror(errno));
  result->save(path);
  if (access(path.c_str(), R_OK) != 0) return failed("could not be written");
  return llvm::Error::success();
}

}  // namespace expc::profile
