// cuFFT: a plan is a number with a stream, and a transform is one launch. cuFFT's header comes only
// with its libraries, so the few functions are declared here as the header does it; 0 is success.

#include <driver_types.h>

#include <cstddef>
#include <map>
#include <mutex>

#include "nullgpu/core/stream.h"

namespace {

constexpr int kInvalidPlan = 1, kExecutionFailed = 6;
/// Bytes of workspace. Not 0, so that callers allocate it as they do for cuFFT, whose sizes are not known.
constexpr size_t kWorkspace = 1024;

std::mutex mutex;
std::map<int, cudaStream_t> plans;

}  // namespace

extern "C" {

int cufftCreate(int* plan) {
  static int made = 0;
  const std::lock_guard lock(mutex);
  plans[*plan = ++made] = nullptr;
  return 0;
}

int cufftDestroy(int plan) {
  const std::lock_guard lock(mutex);
  return plans.erase(plan) ? 0 : kInvalidPlan;
}

int cufftSetStream(int plan, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  plans[plan] = stream;
  return 0;
}

int cufftXtMakePlanMany(int, int, long long*, long long*, long long, long long, int, long long*, long long, long long,
                        int, long long, size_t* workspace, int) {
  *workspace = kWorkspace;
  return 0;
}

int cufftXtExec(int plan, void*, void*, int) {
  const std::lock_guard lock(mutex);
  return nullgpu::launch(plans[plan], "cufft_null_transform") ? kExecutionFailed : 0;
}

}  // extern "C"
