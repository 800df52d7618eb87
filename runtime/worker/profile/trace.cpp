#include "runtime/worker/profile/trace.h"

#include <fcntl.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include "runtime/base/descriptor.h"

namespace expc::profile {
namespace {

using torch::profiler::impl::ActivityType;

std::atomic<bool> tracing{false};

/// Kineto says nothing when it cannot write: so the system is asked, where the file still stands half written.
std::string whyUnwritten(const std::string& file) {
  const base::Descriptor descriptor(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (descriptor < 0) return std::strerror(errno);
  const std::vector<char> block(1 << 16);
  const bool written = write(descriptor, block.data(), block.size()) == static_cast<ssize_t>(block.size());
  return written ? "could not be written" : std::strerror(errno ? errno : ENOSPC);
}

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
  const auto failed = [&](const std::string& what) {
    return llvm::createStringError("the trace " + path + ": " + what + " (--trace names its folder)");
  };
  if (access(path.c_str(), F_OK) == 0 && unlink(path.c_str()) != 0) return failed(std::strerror(errno));
  result->save(path);
  if (access(path.c_str(), R_OK) != 0) {
    const std::string part = path + ".tmp";  // Kineto's; it is renamed when all is written
    const std::string why = whyUnwritten(part);
    unlink(part.c_str());
    return failed(why);
  }
  return llvm::Error::success();
}

}  // namespace expc::profile
