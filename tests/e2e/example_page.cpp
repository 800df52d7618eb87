// Writes the report page of the example that the unit tests use: expc_example_page FILE [null]
// With `null` it is one that null cards measured.
#include <cstdio>
#include <string_view>

#include "runtime/report/example_results.h"
#include "runtime/report/html.h"

int main(int argc, char** argv) {
  const bool null_cards = argc == 3 && std::string_view(argv[2]) == "null";
  if (argc != 2 && !null_cards) {
    std::fputs("usage: expc_example_page FILE [null]\n", stderr);
    return 2;
  }
  auto example = expc::report::withProfiles(expc::report::exampleResults());
  if (null_cards) example = expc::report::onNullCards(std::move(example));
  if (llvm::Error error = expc::report::writeHtml(argv[1], example.plan, example.judgement, example.results, {})) {
    std::fprintf(stderr, "%s\n", llvm::toString(std::move(error)).c_str());
    return 1;
  }
  return expc::report::hasChartLibrary() ? 0 : 3;
}
