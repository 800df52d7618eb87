// expc-worker-command: `--describe`, `--serve FD` or `--trial FILE`, as every worker.

#include <cstdio>
#include <string_view>

#include "runtime/plan/described.h"
#include "runtime/plan/json.h"
#include "runtime/worker/command/extract.h"
#include "runtime/worker/command/metrics.h"
#include "runtime/worker/command/trial.h"
#include "runtime/worker/serve/serve.h"

namespace {

constexpr char kHelp[] =
    R"(expc-worker-command runs the commands of a study (`workload NAME command [...]`). expc starts it.

usage: expc-worker-command --serve FD    serve trials on a socket: how expc uses it
       expc-worker-command --trial FILE  run one trial in this process: for launchers and debugging; events go to standard output
       expc-worker-command --describe    print its build as JSON; its workloads are the study's own
       expc-worker-command --check JSON  say what cannot be read of {"command":…,"metrics":[…]}: exit code 1 and one line
       expc-worker-command --extract FILE  read metrics again out of outputs that were kept: an event line for each
       expc-worker-command --help        this text
)";

/// What the engine asks of a command before it runs.
struct Check {
  expc::plan::Command command;
  std::vector<std::string> metrics;
};

void describe(expc::plan::JsonRecord& io, Check& check) {
  io.field("metrics", check.metrics);
  io.object("command", check.command, expc::plan::kDescribed);
}

llvm::Error errorOf(std::string_view text) {
  auto value = expc::plan::parseJson(text);
  if (!value) return value.takeError();
  auto asked = expc::plan::readRecord<Check>(*value, "the command", describe);
  if (!asked) return asked.takeError();
  return expc::command::MetricReader::make(asked->command, asked->metrics).takeError();
}

/// Patterns and pointers, before anything runs.
int check(std::string_view text) {
  llvm::Error error = errorOf(text);
  if (!error) return 0;
  std::puts(llvm::toString(std::move(error)).c_str());
  return 1;
}

llvm::json::Value describeBuild() {
  return llvm::json::Object{{"v", expc::plan::kTrialVersion},
                            {"build", expc::command::kBuild},
                            {"libraries", llvm::json::Object{}},
                            {"workloads", llvm::json::Array{}}};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "--extract" && argc == 3) return expc::command::extract(argv[2]);
  if (command == "--check" && argc == 3) return check(argv[2]);
  return expc::serve::runWorker(argc, argv,
                                {.name = "expc-worker-command",
                                 .help = kHelp,
                                 .describe = describeBuild,
                                 .child = expc::command::runTrial,
                                 .reuse = expc::serve::Reuse::Often});
}
