#include "runtime/worker/device/device.h"
#include "runtime/worker/kernels/cuda/cuda_loops.h"
#include "runtime/worker/main/worker_main.h"

int main(int argc, char** argv) {
  expc::kernels::addCudaLoops();
  expc::worker::workerMain(argc, argv, {expc::device::cpuBackend(), expc::device::cudaBackend()});
}
