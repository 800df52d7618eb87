// expc-worker-null: `--describe`, `--serve FD` or `--trial FILE`, as every worker.

#include <llvm/Support/raw_ostream.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "runtime/worker/null/idle.h"
#include "runtime/worker/serve/serve.h"

int main(int argc, char** argv) {
  std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "--describe" && argc == 2) {
    llvm::outs() << expc::plan::canonicalJson(expc::null::describe()) << "\n";
    return 0;
  }
  if (command == "--serve" && argc == 3) return expc::serve::run(std::atoi(argv[2]), expc::null::runIdle);
  if (command == "--trial" && argc == 3) return expc::serve::runTrialFile(argv[2], expc::null::runIdle);
  std::fprintf(stderr, "usage: expc-worker-null --describe | --serve FD | --trial FILE\n");
  return 2;
}
