#include <cuda.h>
#include <cuda_runtime_api.h>

#include "nullgpu/core/activity.h"
#include "nullgpu/tests/child.h"

using nullgpu::testing::inChild;

namespace {

/// Does what a program does that loads kernels at run time. Returns the results of its calls, 0 for
/// success.
std::string launchFromImage(const char* image) {
  return inChild({},
                 [image](std::FILE* out) {
                   CUmodule module = nullptr;
                   CUfunction function = nullptr, again = nullptr;
                   const CUresult loaded = cuModuleLoadData(&module, image);
                   const CUresult found = cuModuleGetFunction(&function, module, "triton_add");
                   cuModuleGetFunction(&again, module, "triton_add");
                   CUlaunchConfig config = {};
                   config.gridDimX = config.gridDimY = config.gridDimZ = 1;
                   config.blockDimX = 128;
                   config.blockDimY = config.blockDimZ = 1;
                   const uint64_t before = nullgpu::counters().launches;
                   const CUresult launched = cuLaunchKernelEx(&config, function, nullptr, nullptr);
                   cudaDeviceSynchronize();
                   std::fprintf(out, "%d %d %d launches %lu same %d", loaded, found, launched,
                                nullgpu::counters().launches - before, function && function == again);
                 })
      .said;
}

}  // namespace

TEST_CASE("a kernel of an image is launched and counted") {
  CHECK(launchFromImage("an image") == "0 0 0 launches 1 same 1");
  CHECK(launchFromImage(nullptr) == "1 1 1 launches 0 same 0");
}

TEST_CASE("the driver's attributes of a card are the runtime's, and a context is made current by its card") {
  CHECK(inChild({{"NULLGPU_CARDS", "2"}}, [](std::FILE* out) {
          CUdevice device = -1;
          CUcontext context = nullptr;
          int threads = 0, wanted = 0, card = -1;
          const CUresult there = cuDeviceGet(&device, 1), beyond = cuDeviceGet(&device, 2);
          const CUresult asked = cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1);
          cudaDeviceGetAttribute(&wanted, cudaDevAttrMaxThreadsPerBlock, 1);
          const CUresult kept = cuDevicePrimaryCtxRetain(&context, 1), current = cuCtxSetCurrent(context);
          cudaGetDevice(&card);
          std::fprintf(out, "%d %d %d %d %d %d card %d", there, beyond, asked, threads == wanted && threads > 0, kept,
                       current, card);
        }).said == "0 101 0 1 0 0 card 1");
}

TEST_CASE("an address is known where it is a card's") {
  CHECK(inChild({}, [](std::FILE* out) {
          void* memory = nullptr;
          cudaMalloc(&memory, 64);
          CUdeviceptr found = 0;
          const auto address = reinterpret_cast<CUdeviceptr>(memory);
          int own = 0;
          const CUresult known = cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address);
          const CUresult hosts =
              cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, reinterpret_cast<CUdeviceptr>(&own));
          std::fprintf(out, "%d %d %d", known, found == address, hosts);
        }).said == "0 1 1");
}
