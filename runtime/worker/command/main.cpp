// expc-worker-command: `--describe`, `--serve FD` or `--trial FILE`, as every worker.

#include <fcntl.h>
#include <llvm/ADT/StringExtras.h>

#include <cstdio>
#include <string_view>

#include "runtime/plan/command_json.h"
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

/// Patterns and pointers, before anything runs.
int check(llvm::StringRef text) {
  using namespace expc::plan;
  auto value = parseJson({text.data(), text.size()});
  JsonErrors errors;
  std::vector<std::string> metrics;
  Command command;
  if (value) {
    const JsonPath root;
    JsonFields in(errors, *value, root);
    metrics = in.strings("metrics");
    if (const llvm::json::Value* given = in.value("command"))
      command = readCommand(errors, *given, JsonPath{&root, "command", std::nullopt});
  }
  llvm::Error error = value ? errors.take("the command") : value.takeError();
  if (!error) error = expc::command::MetricReader::make(command, metrics).takeError();
  if (!error) return 0;
  std::puts(llvm::toString(std::move(error)).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "--describe" && argc == 2) {
    const llvm::json::Object description{{"v", expc::plan::kTrialVersion},
                                         {"build", expc::command::kBuild},
                                         {"libraries", llvm::json::Object{}},
                                         {"workloads", llvm::json::Array{}}};
    std::puts(expc::plan::prettyJson(llvm::json::Object(description)).c_str());
    return 0;
  }
  if (command == "--serve" && argc == 3) {
    int fd = -1;
    if (llvm::to_integer(llvm::StringRef(argv[2]), fd, 10) && fcntl(fd, F_GETFD) != -1)
      return expc::serve::run(fd, expc::command::runTrial, expc::serve::Reuse::Often);
    std::fprintf(stderr, "expc-worker-command: --serve %s: that is no open descriptor; expc passes one\n", argv[2]);
    return 2;
  }
  if (command == "--trial" && argc == 3) return expc::serve::runTrialFile(argv[2], expc::command::runTrial);
  if (command == "--extract" && argc == 3) return expc::command::extract(argv[2]);
  if (command == "--check" && argc == 3) return check(argv[2]);
  if (command == "--help" && argc == 2) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  std::fputs(kHelp, stderr);
  return 2;
}
