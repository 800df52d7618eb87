// Writes the report page of the example that the unit tests use: expc_example_page FILE
#include <cstdio>

#include "runtime/report/example_results.h"
#include "runtime/report/html.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: expc_example_page FILE\n", stderr);
    return 2;
  }
  const auto example = expc::report::withProfiles(expc::report::exampleResults());
  if (llvm::Error error = expc::report::writeHtml(argv[1], example.plan, example.judgement, example.results, {})) {
    std::fprintf(stderr, "%s\n", llvm::toString(std::move(error)).c_str());
    return 1;
  }
  return expc::report::hasChartLibrary() ? 0 : 3;
}
