// The program expc-worker-command, which runs a study's commands. Besides the command line of every
// worker (serve.h) it checks patterns before a run (`--check`) and reads metrics out of kept
// outputs (`--extract`), so that only this program knows how metrics are read.

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/files/files.h"
#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/protocol/trial.h"
#include "runtime/worker/command/kept_output.h"
#include "runtime/worker/command/metrics.h"
#include "runtime/worker/command/readers.h"
#include "runtime/worker/command/trial.h"
#include "runtime/worker/serve/serve.h"

namespace expc::command {
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

/// The largest file of questions that is read, in bytes.
constexpr uint64_t kMostQuestion = 16ull << 20;

/// A question of the engine: whether the metrics of a command can be read, or a request to read
/// them from kept outputs.
struct Question {
  plan::Command command;
  std::vector<std::string> metrics;
  std::vector<std::string> outputs = {};  // for kept outputs only, as `root` is
  std::string root = {};
};

/// Parses a question; `what` names it in errors. @param of_outputs whether it is about kept outputs
Expected<Question> readQuestion(std::string_view text, const char* what, bool of_outputs) {
  auto value = TRY(parseJson(text));
  return base::readRecord<Question>(value, what, [&](JsonRecord& io, Question& question) {
    io.required(EXPC_NAMED(question, metrics, command));
    if (of_outputs) io.required(EXPC_NAMED(question, outputs, root));
  });
}

/// `--check JSON`: checks patterns and pointers before anything runs. Prints what is wrong; the
/// exit code is 1 then.
int check(std::string_view text) {
  auto asked = readQuestion(text, "the command", /*of_outputs=*/false);
  Error error = asked ? MetricReader::make(asked->command, asked->metrics).takeError() : asked.takeError();
  for (size_t i = 0; !error && i < asked->command.services.size(); ++i)
    if (const auto& ready = asked->command.services[i].command.ready; ready && ready->by == plan::Ready::By::Regex)
      error = Pattern::compile(ready->what, Pattern::Use::Match).takeError();
  if (!error) return 0;
  std::puts(toString(std::move(error)).c_str());
  return 1;
}

/// Whether a metric that is asked for, or an expectation, reads the file.
bool isRead(const Question& question, const std::string& file) {
  const auto reads = [&](const plan::CommandMetric& metric) {
    return (metric.file.empty() ? kOutput : metric.file) == file;
  };
  return llvm::any_of(question.command.metrics,
                      [&](const plan::CommandMetric& metric) {
                        return reads(metric) && is_contained(question.metrics, metric.name);
                      }) ||
         llvm::any_of(question.command.expectations,
                      [&](const plan::Expectation& expectation) { return reads(expectation.read); });
}

/// Reads one kept output: unpacks it, then verifies and reads as a trial would.
Expected<protocol::Event> readOne(const Question& question, const MetricReader& reader, const std::string& output) {
  const files::TemporaryFolder scratch;
  if (scratch.path().empty()) return failure("cannot make a temporary folder in TMPDIR");
  const std::string folder = scratch.path() + "/trial";
  auto kept = TRY(unpackOutput(output, folder));
  for (const std::string& file : kept.left_out)
    if (isRead(question, file)) return failure("'{}' was too large to be stored", file);
  protocol::Event result{.type = protocol::Event::Type::Result};
  const auto next = [](const plan::CommandMetric&) {};
  TRY(reader.verify(folder, question.root, next));
  TRY(reader.read(folder, kept.end, result, next));
  return result;
}

/// `--extract FILE`: reads metrics out of kept outputs. The file is JSON: {"command", "metrics",
/// "root", "outputs": [path…]}. For each output one event line is printed, `result` or `failed`, in
/// their order.
int extract(const char* path) {
  auto file = readFile(path, kMostQuestion);
  auto question = file ? readQuestion((*file)->getBuffer(), "the question", /*of_outputs=*/true) : file.takeError();
  if (!question) {
    std::fprintf(stderr, "%s: %s\n", path, toString(question.takeError()).c_str());
    return 2;
  }
  auto reader = MetricReader::make(question->command, question->metrics);
  if (!reader) {
    std::puts(toString(reader.takeError()).c_str());
    return 1;
  }
  for (const std::string& output : question->outputs) {
    auto event = readOne(*question, *reader, output);
    std::puts(protocol::toLine(
                  event ? *event
                        : protocol::Event{.type = protocol::Event::Type::Failed, .reason = toString(event.takeError())})
                  .c_str());
  }
  return 0;
}

/// The answer to `--describe`. Its workloads are the study's own, so none is listed.
json::Value describeBuild() {
  return json::Object{
      {"v", protocol::kTrialVersion}, {"build", kBuild}, {"libraries", json::Object{}}, {"workloads", json::Array{}}};
}

}  // namespace
}  // namespace expc::command

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "--extract" && argc == 3) return expc::command::extract(argv[2]);
  if (command == "--check" && argc == 3) return expc::command::check(argv[2]);
  return expc::serve::runWorker(argc, argv,
                                {.name = "expc-worker-command",
                                 .help = expc::command::kHelp,
                                 .describe = expc::command::describeBuild,
                                 .child = expc::command::runTrial,
                                 .reuse = expc::serve::Reuse::Often});
}
