#include "runtime/worker/device/device.h"
#include "runtime/worker/main/worker_main.h"

int main(int argc, char** argv) { expc::worker::workerMain(argc, argv, {expc::device::cpuBackend()}); }
