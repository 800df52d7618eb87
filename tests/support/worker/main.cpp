#include "runtime/worker/serve/serve.h"
#include "tests/support/worker/idle.h"

int main(int argc, char** argv) {
  return expc::serve::runWorker(argc, argv,
                                {.name = "expc-worker-null",
                                 .help = "usage: expc-worker-null --describe | --help | --serve FD | --trial FILE\n",
                                 .describe = expc::null::describe,
                                 .child = expc::null::runIdle});
}
