// `expc selftest`: whether what the docs promise holds in this build.

#include <fmt/format.h>
#include <llvm/Support/JSON.h>

#include <algorithm>

#include "compiler/driver/commands.h"
#include "compiler/driver/exit_codes.h"
#include "runtime/plan/json.h"
#include "runtime/simulate/selftest.h"

namespace expc::driver {
namespace {

using simulate::Promise;

std::string textOf(const std::vector<Promise>& promises, unsigned studies) {
  std::string text = fmt::format("{} simulated studies each, of a claim at its bound with 95 % confidence\n", studies);
  const std::string* noise = nullptr;
  for (const Promise& promise : promises) {
    if (!noise || *noise != promise.noise)
      text += fmt::format("\n{}\n  {:<28} {:>8} {:>13} {:>12} {:>6}\n", promise.noise, "", "covered", "false passes",
                          "false fails", "pairs");
    noise = &promise.noise;
    text +=
        fmt::format("  {:<28} {:>6.1f} % {:>11.1f} % {:>10.1f} % {:>6.1f}{}\n", promise.design, promise.coverage * 100,
                    promise.false_passes * 100, promise.false_fails * 100, promise.repetitions,
                    promise.kept ? "" : fmt::format("  not kept: {:.3g} % is promised", promise.least_coverage * 100));
  }
  return text;
}

std::string jsonOf(const std::vector<Promise>& promises, unsigned studies, uint64_t seed) {
  llvm::json::Array rows;
  for (const Promise& promise : promises)
    rows.push_back(llvm::json::Object{{"noise", promise.noise},
                                      {"design", promise.design},
                                      {"coverage", promise.coverage},
                                      {"false_passes", promise.false_passes},
                                      {"false_fails", promise.false_fails},
                                      {"repetitions", promise.repetitions},
                                      {"promised_coverage", promise.least_coverage},
                                      {"kept", promise.kept}});
  return plan::prettyJson(llvm::json::Object{{"schema", "expc.selftest/1"},
                                             {"studies", studies},
                                             {"seed", static_cast<int64_t>(seed)},
                                             {"statistics", std::move(rows)}});
}

}  // namespace

int selftestStatistics(const SelftestOptions& options, const Console& console) {
  const std::vector<Promise> promises = simulate::examineStatistics(options.studies, options.seed);
  const bool printed = console.print(options.json ? jsonOf(promises, options.studies, options.seed) + "\n"
                                                  : textOf(promises, options.studies));
  const bool kept = std::all_of(promises.begin(), promises.end(), [](const Promise& promise) { return promise.kept; });
  return printed && kept ? kSuccess : kError;
}

}  // namespace expc::driver
