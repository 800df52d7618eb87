// Runs of commands: real programs and a real store, through the worker that starts commands.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/base/format.h"
#include "runtime/base/hash.h"
#include "runtime/base/json_record.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/extract.h"
#include "runtime/machine/probe.h"
#include "runtime/machine/slots.h"
#include "runtime/store/store.h"
#include "tests/support/engine/run.h"
#include "tests/support/folder.h"
#include "tests/support/text/has.h"

using namespace expc;
using namespace expc::engine;
namespace fs = std::filesystem;
using plan::CommandMetric;
using List = std::vector<std::string>;

namespace {

using expc::test::has;

plan::Metric metricOf(const std::string& name, bool series = false) {
  plan::Metric metric;
  metric.name = name;
  metric.dimension = "time";
  metric.unit = "s";
  metric.series = series;
  return metric;
}

/// A study's folder with a plan of one command, at two points unless told otherwise.
class Study : public expc::test::TestFolder {
 public:
  explicit Study(List arguments, unsigned repeat = 1) {
    options.results = path + "/results";
    options.worker = "/no/such/worker";  // a plan of commands alone needs none
    options.command_worker = EXPC_COMMAND_WORKER;
    options.heat_up_seconds = 0;
    options.attempts = 1;
    plan.study = "test";
    plan.root = path;
    plan.digest = "digest";
    plan::Workload workload;
    workload.name = "tool";
    workload.command.emplace();
    workload.command->arguments = std::move(arguments);
    plan.workloads.push_back(std::move(workload));
    plan::KindDesign design;
    design.repeat = repeat;
    design.settings = llvm::json::Object{{"steps", 5}};
    plan.design.kinds.push_back(std::move(design));
    point(llvm::json::Object{{"level", 1}});
  }

  plan::Command& command() { return *plan.workloads[0].command; }
  plan::Point& point(llvm::json::Object parameters) {
    plan::Point point;
    point.id = base::shortHash(base::canonicalJson(llvm::json::Object(parameters)));
    point.parameters = std::move(parameters);
    plan.points.push_back(std::move(point));
    return plan.points.back();
  }
  void measure(const std::string& name) { plan.metrics.push_back(metricOf(name)); }
  void measure(const CommandMetric& metric) {
    plan.metrics.push_back(metricOf(metric.name, metric.series));
    command().metrics.push_back(metric);
  }
  void regex(const std::string& pattern, const std::string& file = "") {
    measure(CommandMetric{"value", CommandMetric::From::Regex, file, pattern, 1, false});
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path + "/" + name) << text; }

  Ran run() const { return runPlan(plan, options); }
  std::string refusal() const {
    ProgressListener listener;
    auto outcome = engine::run(plan, options, listener);
    REQUIRE(!outcome);
    return llvm::toString(outcome.takeError());
  }
  std::vector<store::Trial> trials() const {
    std::vector<std::string> messages;
    auto store = llvm::cantFail(store::Store::openForReading(options.results, messages));
    return store.load(plan).trials;
  }
  /// Runs a plan of one trial and returns the trial. A failed one is repeated in an extra block, and the first is
  /// returned.
  store::Trial one() const {
    run();
    auto all = trials();
    REQUIRE(!all.empty());
    return all[0];
  }
  /// The reason of a trial that failed.
  std::string failure() const {
    const store::Trial trial = one();
    CHECK((trial.status == store::TrialStatus::Failed));
    return trial.reason;
  }
  unsigned folders() const {
    std::error_code none;
    return std::distance(fs::directory_iterator(options.results + "/trials", none), {});
  }

  plan::Plan plan;
  EngineOptions options;
};

List python(const std::string& script, List more = {}) {
  List arguments{"/usr/bin/python3", "-c", script};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("a command runs, with metrics from its output, its files and its process") {
  Study study({"python3", "work.py", "--level", "${level}", "--rank", "${rank}", "--seed=${seed}"}, 2);
  study.point(llvm::json::Object{{"level", 2}, {"rank", 8}});
  study.write("helper.py", "import json\n");
  study.write("work.py", R"(
import helper, os, sys, time
level = int(sys.argv[sys.argv.index('--level') + 1])
rank = int(sys.argv[sys.argv.index('--rank') + 1]) if '--rank' in sys.argv else 0
assert not os.path.exists('out.json'), 'a fresh folder'
assert os.path.exists('table.txt') and os.environ['EXPC_STUDY_FOLDER'] == os.path.dirname(os.path.realpath('work.py'))
assert os.getcwd() == os.environ['EXPC_TRIAL_FOLDER']
time.sleep(0.05)
for step in range(3): print(f'step {level * 10 + step} ms')
print('warning: value 99 ms', file=sys.stderr)
helper.json.dump({'api': {'launch': 1000 * level + rank}}, open('out.json', 'w'))
open('log.csv', 'w').write('step,loss\n1,%d\n2,\n3,0.5\n' % level)
)");
  study.write("table.txt", "");
  study.command().inputs = {"*.txt"};
  study.measure(CommandMetric{"step", CommandMetric::From::Regex, "", "^step ([0-9.]+) ms$", 1e-3, false});
  study.measure(CommandMetric{"said", CommandMetric::From::Regex, "stderr.txt", "value ([0-9]+)", 1, false});
  study.measure(CommandMetric{"launch", CommandMetric::From::Json, "out.json", "/api/launch", 1e-6, false});
  study.measure(CommandMetric{"loss", CommandMetric::From::Csv, "log.csv", "loss", 1, true});
  study.measure("wall");
  study.measure("cpu_time");
  study.measure("host_memory_peak");
  CHECK((study.run().ending == Ending::Complete));
  const auto trials = study.trials();
  REQUIRE(trials.size() == 4);
  for (const store::Trial& trial : trials) {
    const bool first = trial.key->place.point == study.plan.points[0].id;
    CHECK(trial.metrics.at("step") == doctest::Approx(first ? 0.012 : 0.022));
    CHECK(trial.metrics.at("said") == 99);
    CHECK(trial.metrics.at("launch") == doctest::Approx(first ? 0.001 : 0.002008));
    CHECK(trial.metrics.at("loss") == 0.5);
    CHECK(trial.series.at("loss") == std::vector<double>{first ? 1.0 : 2.0, 0.5});
    CHECK(trial.metrics.at("wall") > 0.05);
    CHECK(trial.metrics.at("wall") < 10);
    CHECK(trial.metrics.at("cpu_time") > 0);
    CHECK(trial.metrics.at("host_memory_peak") > 1 << 20);
    CHECK(trial.key->worker_build == "command-1");
    CHECK(has(trial.environment_json, "/python3\""));
  }
  CHECK(study.folders() == 0);
  CHECK((study.run().ending == Ending::NothingToDo));
}

TEST_CASE(
    "editing what runs or how it is read makes trials not count, adding a metric that is not asked for does not") {
  Study study({"python3", "work.py"});
  study.write("work.py", "print('a 1 b 2')");
  study.regex("a ([0-9])");
  CHECK(study.run().trials == 1);
  CHECK(study.run().trials == 0);
  study.command().metrics.push_back({"other", CommandMetric::From::Regex, "", "b ([0-9])", 1, false});
  CHECK(study.run().trials == 0);
  study.write("work.py", "print('a 3 b 2')");
  CHECK(study.run().trials == 1);
  CHECK(study.trials()[0].metrics.at("value") == 3);
  study.command().metrics[0].where = "b ([0-9])";
  const Ran outcome = study.run();
  CHECK(outcome.trials == 1);
  CHECK(says(outcome, "the study now reads a metric"));
  CHECK(study.trials()[0].metrics.at("value") == 2);
  study.plan.metrics.push_back(metricOf("other"));
  CHECK(study.run().trials == 1);
  study.plan.metrics.pop_back();
  CHECK(study.run().trials == 0);
}

TEST_CASE("the program sees its devices, cores and paths") {
  Study study(python(R"(
import os, sys
print('cores', len(os.sched_getaffinity(0)))
print('threads', os.environ['OMP_NUM_THREADS'])
assert os.environ['CUDA_VISIBLE_DEVICES'] == '' and 'RANK' not in os.environ
print('bytes', len(open(sys.argv[1]).read()))
)",
                     {"${file}"}));
  study.write("data.txt", "12345");
  study.plan.data_paths = {"data.txt"};
  study.plan.points[0].parameters["file"] = "data.txt";
  for (const char* name : {"cores", "threads", "bytes"})
    study.measure(CommandMetric{name, CommandMetric::From::Regex, "", std::string(name) + " ([0-9]+)", 1, false});
  const auto machine = machine::probe();
  const auto slots = llvm::cantFail(machine::slots(machine, "cpu:1"));
  study.options.devices = "cpu:1";
  store::Trial trial = study.one();
  INFO(trial.reason);
  CHECK(trial.metrics.at("cores") == slots[0].cores.size());
  CHECK(trial.metrics.at("bytes") == 5);
  if (machine.allowed.size() < 2) return;
  study.options.devices = "cpu:2";
  study.plan.points.clear();
  study.point(llvm::json::Object{{"level", 2}, {"file", "data.txt"}});
  CHECK(study.one().metrics.at("cores") == machine.allowed.size());  // no `gpus`: all of them
  study.plan.points.clear();
  study.point(llvm::json::Object{{"level", 3}, {"file", "data.txt"}, {"gpus", 1}});
  CHECK(study.one().metrics.at("cores") <= (machine.allowed.size() + 1) / 2);
  study.plan.points.clear();
  study.point(llvm::json::Object{{"level", 4}, {"file", "data.txt"}, {"gpus", 2}});
  trial = study.one();
  CHECK(trial.metrics.at("cores") == machine.allowed.size());
  CHECK(trial.metrics.at("threads") == machine.allowed.size() / 2);
}

TEST_CASE("what a program does wrong fails its trial with one line that says what") {
  SUBCASE("exit code") {
    Study study(python("import sys; print('half', flush=True); sys.exit('no such layer: 7')"));
    study.measure("wall");
    CHECK(study.failure() == "/usr/bin/python3 exited with code 1: no such layer: 7");
    CHECK(has(study.trials()[0].log_tail, "half"));
    CHECK(study.folders() == study.trials().size());
  }
  SUBCASE("silent exit code") {
    Study study(python("raise SystemExit(3)"));
    study.measure("wall");
    CHECK(study.failure() == "/usr/bin/python3 exited with code 3 and wrote nothing");
  }
  SUBCASE("signal") {
    Study study(python("import os; os.abort()"));
    study.measure("wall");
    CHECK(has(study.failure(), "/usr/bin/python3 was killed by signal 6 (Aborted)"));
  }
  SUBCASE("killed from outside, with memory left") {
    Study study(python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"));
    study.measure("wall");
    CHECK(has(study.failure(), "was killed by signal 9 (Killed)"));
  }
  SUBCASE("no output") {
    Study study({"/usr/bin/true"});
    study.regex("step ([0-9]+)");
    CHECK(study.failure() ==
          "the metric value, read from standard output: the pattern 'step ([0-9]+)' matches nothing");
  }
  SUBCASE("no file") {
    Study study({"/usr/bin/true"});
    study.measure(CommandMetric{"launch", CommandMetric::From::Json, "out.json", "/a", 1, false});
    CHECK(study.failure() == "the metric launch, read from 'out.json': the program did not write it");
  }
  SUBCASE("not a number") {
    Study study(python("print('loss n/a')"));
    study.regex("loss (\\S+)");
    CHECK(has(study.failure(), "found something that is not a value: 'n/a' is not a number"));
  }
  SUBCASE("binary output") {
    Study study(
        python("import os, sys; sys.stdout.buffer.write(os.urandom(100000) + b'\\nstep 3 ms\\n' + bytes(range(256)))"));
    study.regex("^step ([0-9]+) ms$");
    CHECK(study.one().metrics.at("value") == 3);
  }
  SUBCASE("deep JSON") {
    Study study(python("open('out.json', 'w').write('[' * 1000000)"));
    study.measure(CommandMetric{"launch", CommandMetric::From::Json, "out.json", "/0", 1, false});
    CHECK(has(study.failure(), "nested deeper"));
  }
  SUBCASE("huge JSON") {
    Study study(python("open('out.json', 'w').write('[' + '1,' * 40000000 + '1]')"));
    study.measure(CommandMetric{"launch", CommandMetric::From::Json, "out.json", "/0", 1, false});
    CHECK(has(study.failure(), "it is too large: at most 64 MiB are read"));
  }
  SUBCASE("a pattern without end") {
    Study study(python("print('a' * 100000 + '!')"));
    study.regex("^(?:a+)+([0-9])$");
    CHECK(has(study.failure(), "tries too many ways to match"));
  }
  SUBCASE("a metric that is declared without a place to read it from") {
    Study study({"/usr/bin/sleep", "60"});
    study.measure("accuracy");
    CHECK(has(study.failure(), "the metric accuracy has no `from regex"));
  }
}

TEST_CASE("output is not what limits a program, until it is a flood") {
  Study study(python("import sys\nfor i in range(1000): sys.stdout.write('x' * 100000 + '\\n')\nprint('step 5 ms')"));
  study.regex("^step ([0-9]+) ms$");
  CHECK(study.one().metrics.at("value") == 5);
  CHECK(study.folders() == 0);
}

TEST_CASE("a program says by a file that memory ran out, and never by the words that it prints") {
  Study study(python(
      "import os\nopen(os.environ['EXPC_OUT_OF_MEMORY'], 'w').write('no room for 9 GiB\\n')\nraise MemoryError()"));
  study.measure("wall");
  store::Trial trial = study.one();
  CHECK((trial.status == store::TrialStatus::Infeasible));
  CHECK(trial.reason == "/usr/bin/python3 reported that it ran out of memory: no room for 9 GiB");
  Study words(
      python("import sys; sys.exit('torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 9 GiB')"));
  words.measure("wall");
  CHECK(has(words.failure(), "exited with code 1: torch.cuda.OutOfMemoryError: CUDA out of memory."));
  Study swallowed(python("print('info: batches that raise MemoryError are tried again')"));
  swallowed.regex("step ([0-9]+)");
  CHECK(has(swallowed.failure(), "the metric value"));
  Study killed(python("import os; os.kill(os.getpid(), 9)"));
  killed.measure("wall");
  CHECK(has(killed.failure(), "was killed by signal 9 (Killed) and wrote nothing"));
}

TEST_CASE("a corrected pattern or a new metric reads what was kept, and nothing runs again") {
  Study study(python("print('step 5 ms'); print('loss 3'); open('log.csv', 'w').write('loss\\n7\\n')"), 2);
  study.regex("step ([0-9]+) ms");
  const auto extracted = [&] {
    return llvm::cantFail(extract(study.plan, study.options.results, EXPC_COMMAND_WORKER));
  };
  const auto values = [&](const char* name) {
    std::vector<double> found;
    for (const store::Trial& trial : study.trials()) found.push_back(trial.metrics.at(name));
    return found;
  };
  SUBCASE("another pattern") {
    CHECK(study.run().valid == 2);
    CHECK(extracted().as_before == 2);
    study.command().metrics[0].where = "loss ([0-9]+)";
    CHECK(study.trials().empty());
    CHECK(extracted().read == 2);
    CHECK(values("value") == std::vector<double>{3, 3});
    CHECK(study.run().trials == 0);
  }
  SUBCASE("a pattern that matched nothing") {
    study.command().metrics[0].where = "stepp ([0-9]+)";
    CHECK(study.run().valid == 0);
    study.command().metrics[0].where = "step ([0-9]+)";
    CHECK(extracted().read == 1);  // after a block in which all failed there was no other
    CHECK(values("value") == std::vector<double>{5});
    CHECK(study.run().trials == 1);
  }
  SUBCASE("metrics that were not asked for") {
    CHECK(study.run().valid == 2);
    study.measure("wall");
    study.measure(CommandMetric{"loss", CommandMetric::From::Regex, "", "loss ([0-9]+)", 1, false});
    CHECK(extracted().read == 2);
    CHECK(values("loss") == std::vector<double>{3, 3});
    CHECK(values("wall")[0] > 0);
    CHECK(values("value") == std::vector<double>{5, 5});
    study.measure(CommandMetric{"last", CommandMetric::From::Csv, "log.csv", "loss", 1, false});
    const ExtractOutcome outcome = extracted();
    CHECK(outcome.read == 0);
    REQUIRE(outcome.refused.size() == 1);
    CHECK(has(outcome.refused.begin()->first, "log.csv"));  // nobody had said that it would be read
  }
  SUBCASE("an expectation that is not met") {
    CHECK(study.run().valid == 2);
    plan::Expectation expectation;
    expectation.read = CommandMetric{"regex(\"^done$\")", CommandMetric::From::Regex, "", "^done$", 1, false};
    study.command().expectations.push_back(expectation);
    const ExtractOutcome outcome = extracted();
    CHECK(outcome.read == 0);
    CHECK(outcome.refused.begin()->second == 2);
    CHECK(study.trials().empty());
  }
}

TEST_CASE("an input that changes while a run goes on ends it, and what was measured meanwhile does not count") {
  const std::string source = "import os; path = os.environ['EXPC_STUDY_FOLDER'] + '/input.txt'\n";
  SUBCASE("another content") {
    Study study(python(source + "open(path, 'a').write('more')"));
    study.write("input.txt", "text");
    study.command().inputs = {"input.txt"};
    study.measure("wall");
    const std::string refusal = study.refusal();
    CHECK(has(refusal, "/input.txt' has changed during the run"));
    CHECK(has(refusal, "The same command measures again"));
    for (const store::Trial& trial : study.trials()) CHECK((trial.status == store::TrialStatus::Failed));
  }
  SUBCASE("another file of the same content") {
    Study study(python(source + "open(path + '.new', 'w').write('text'); os.rename(path + '.new', path)"), 3);
    study.write("input.txt", "text");
    study.command().inputs = {"input.txt"};
    study.measure("wall");
    CHECK(study.run().valid == 3);
  }
  SUBCASE("another content of the same length, with the time of the one before") {
    Study study(python(source + "s = os.stat(path); open(path, 'r+').write('next')\n"
                                "os.utime(path, ns=(s.st_atime_ns, s.st_mtime_ns))"));
    study.write("input.txt", "text");
    study.command().inputs = {"input.txt"};
    study.measure("wall");
    CHECK(has(study.refusal(), "/input.txt' has changed during the run"));
  }
  SUBCASE("it is gone") {
    Study study(python(source + "os.unlink(path)"));
    study.write("input.txt", "text");
    study.command().inputs = {"input.txt"};
    study.measure("wall");
    CHECK(has(study.refusal(), "/input.txt' has vanished during the run"));
  }
}

TEST_CASE("a variable that is passed by name counts, and one that is not passed is not seen") {
  setenv("TEST_NAP_SECONDS", "1", 1);
  Study study(python("import os; print('value', os.environ.get('TEST_NAP_SECONDS', '0'))"));
  study.regex("value ([0-9]+)");
  CHECK(study.one().metrics.at("value") == 0);
  study.options.pass_env = {"TEST_NAP_SECONDS"};
  CHECK(study.run().trials == 1);
  CHECK(study.trials()[0].metrics.at("value") == 1);
  CHECK(study.run().trials == 0);
  setenv("TEST_NAP_SECONDS", "3", 1);
  CHECK(study.run().trials == 1);
  const auto trials = study.trials();
  REQUIRE(trials.size() == 1);
  CHECK(trials[0].metrics.at("value") == 3);
  CHECK(has(trials[0].environment_json, "TEST_NAP_SECONDS"));
  unsetenv("TEST_NAP_SECONDS");
  CHECK(has(study.refusal(), "--pass-env TEST_NAP_SECONDS: that variable is not set here"));
}

TEST_CASE("a hang is a timeout, and nothing of it lives on") {
  Study study(python(R"(
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: open(os.environ['EXPC_STUDY_FOLDER'] + '/pid', 'w').write(str(os.getpid()))
time.sleep(600)
)"));
  study.measure("wall");
  study.command().timeout_seconds = 0.7;
  const auto begin = std::chrono::steady_clock::now();
  const store::Trial trial = study.one();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(15));
  CHECK((trial.status == store::TrialStatus::Timeout));
  CHECK(has(trial.reason, "not finished after 0.7 s"));
  int pid = 0;
  std::ifstream(study.path + "/pid") >> pid;
  REQUIRE(pid > 0);
  CHECK(!fs::exists(fmt::format("/proc/{}", pid)));
  CHECK(study.folders() == 1);
}

TEST_CASE("what is missing is refused before the first trial") {
  Study study({"no-such-program"});
  study.measure("wall");
  CHECK(has(study.refusal(), "the workload tool: program 'no-such-program' not found in PATH"));
  study.command().arguments = {"true"};
  study.command().inputs = {"src/**"};
  CHECK(has(study.refusal(), "the workload tool: the input 'src/**' matches no file in " + study.path));
  study.command().inputs.clear();
  study.options.command_worker = "/no/such/worker";
  CHECK(has(study.refusal(), "the worker '/no/such/worker' cannot be started"));
  study.options.command_worker = EXPC_COMMAND_WORKER;
  study.regex("(a");
  CHECK(study.refusal() ==
        "the workload tool: the metric value, read from standard output: the pattern '(a' is invalid at "
        "character 3: missing closing parenthesis");
  study.command().metrics[0] = {"value", CommandMetric::From::Json, "out.json", "a/b", 1, false};
  CHECK(has(study.refusal(), "the JSON pointer 'a/b' does not start with a slash"));
  study.command().metrics[0] = {"value", CommandMetric::From::Csv, "../out.csv", "a", 1, false};
  CHECK(has(study.refusal(), "read from '../out.csv': a path inside the trial's folder is needed"));
  study.options.command_worker = EXPC_NULL_WORKER;  // which knows no --check
  CHECK(has(study.refusal(), "exited with code 2"));
  CHECK(!fs::exists(study.options.results));
}

TEST_CASE("a built-in workload and a command can stand in one plan") {
  Study study({"/usr/bin/sleep", "0.01"}, 2);
  study.plan.workloads.push_back({"built_in", "null.idle", 1, std::nullopt});
  study.options.worker = EXPC_NULL_WORKER;
  plan::Point& point = study.point(llvm::json::Object{{"step", 0.001}, {"duration", 0.001}, {"gpus", 1}});
  point.workload = 1;
  study.measure("wall");
  Ran outcome = study.run();
  CHECK((outcome.ending == Ending::Complete));
  auto trials = study.trials();
  REQUIRE(trials.size() == 4);
  CHECK(trials[0].session == trials[3].session);
  for (const store::Trial& trial : trials) {
    const bool command = trial.key->place.point == study.plan.points[0].id;
    CHECK((trial.key->worker_build == "command-1") == command);
    CHECK((trial.not_on_device == List{"wall"}) == !command);
  }
  // The command's trials also count for a plan that has only the command.
  study.plan.points.pop_back();
  study.plan.workloads.pop_back();
  CHECK(study.run().trials == 0);
}

TEST_CASE("a wrong output is no valid trial, however fast it came") {
  Study study(python("print('rows 500'); print('ok'); open('out.txt', 'w').write('a\\nb\\n')"));
  study.regex("rows ([0-9]+)");
  study.write("wanted.txt", "a\nb\n");
  study.command().inputs = {"wanted.txt"};
  const auto expect = [&](CommandMetric read, std::optional<plan::Bound> bound = {}) {
    study.command().expectations = {{std::move(read), std::move(bound)}};
  };
  using From = CommandMetric::From;
  expect({"regex(\"^ok$\")", From::Regex, "", "^ok$", 1, false});
  CHECK(study.one().metrics.at("value") == 500);
  expect({"same(\"out.txt\", \"wanted.txt\")", From::Same, "out.txt", "wanted.txt", 1, false});
  CHECK(study.run().trials == 1);  // it was measured without that being known
  CHECK(study.run().trials == 0);
  const CommandMetric rows{"regex(\"rows ([0-9]+)\") == 500", From::Regex, "", "rows ([0-9]+)", 1, false};
  expect(rows, plan::Bound{plan::Relation::Equal, 500, 0, "== 500"});
  CHECK(study.run().trials == 1);
  SUBCASE("a number out of bounds") {
    expect(rows, plan::Bound{plan::Relation::Equal, 400, 0, "== 400"});
    CHECK(study.failure() == "expected regex(\"rows ([0-9]+)\") == 500, read from standard output: it is 500");
  }
  SUBCASE("no match") {
    expect({"regex(\"^passed$\")", From::Regex, "", "^passed$", 1, false});
    CHECK(has(study.failure(),
              "expected regex(\"^passed$\"), read from standard output: the pattern '^passed$' matches"));
  }
  SUBCASE("another file") {
    study.write("wanted.txt", "a\nc\n");
    expect({"same", From::Same, "out.txt", "wanted.txt", 1, false});
    CHECK(has(study.failure(), "read from 'out.txt': it differs from line 2 on"));
  }
  SUBCASE("an expectation that cannot be read") {
    expect({"regex", From::Regex, "", "(a", 1, false});
    CHECK(has(study.refusal(),
              "the workload tool: expected regex, read from standard output: the pattern '(a' is invalid"));
  }
}

TEST_CASE("of several numbers the one that is asked for is taken") {
  Study study(
      python("open('out.json', 'w').write('{\"t\": [4, 1, 7]}'); open('out.bin', 'wb').write(b'x' * 77)\n"
             "for t in (4, 1, 7, 2): print(t)"));
  using From = CommandMetric::From;
  using Take = CommandMetric::Take;
  const auto add = [&](const char* name, From from, std::optional<Take> take, const char* file, const char* where) {
    study.measure(CommandMetric{name, from, file, where, 0.5, false, take});
  };
  add("median", From::Lines, Take::Median, "", "");
  add("mean", From::Lines, Take::Mean, "stdout.txt", "");
  add("sum", From::Regex, Take::Sum, "", "^([0-9]+)$");
  add("least", From::Json, Take::Min, "out.json", "/t");
  add("most", From::Json, Take::Max, "out.json", "/t");
  add("last", From::Json, Take::Last, "out.json", "/t");
  add("middle", From::Json, Take::Median, "out.json", "/t");
  add("plain", From::Lines, {}, "", "");
  add("size", From::Size, {}, "out.bin", "");
  const auto metrics = study.one().metrics;
  CHECK(metrics.at("median") == 1.5);
  CHECK(metrics.at("mean") == 1.75);
  CHECK(metrics.at("sum") == 7);
  CHECK(metrics.at("least") == 0.5);
  CHECK(metrics.at("most") == 3.5);
  CHECK(metrics.at("last") == 3.5);
  CHECK(metrics.at("middle") == 2);
  CHECK(metrics.at("plain") == 1);
  CHECK(metrics.at("size") == 38.5);
  Study array(python("open('out.json', 'w').write('[1, 2]')"));
  array.measure(CommandMetric{"value", From::Json, "out.json", "", 1, false});
  CHECK(has(array.failure(), "there is an array: declare the metric as `series`, or choose one number"));
}

TEST_CASE("an optional metric that the output lacks has no value, and all else is kept") {
  Study study(
      python("print('time 3\\nenergy <not supported>\\nOK\\nOK')\n"
             "open('out-17.json', 'w').write('{\"loss\": [{\"v\": 1}, {\"e\": 0}, {\"v\": 5}]}')"));
  using From = CommandMetric::From;
  study.regex("time ([0-9]+)");
  CommandMetric energy{"energy", From::Regex, "", "energy (.*)", 1, false};
  energy.optional = true;
  study.measure(energy);
  study.measure(CommandMetric{"loss", From::Json, "out-*.json", "/loss/*/v", 2, true});
  study.measure(CommandMetric{"passed", From::Regex, "", "^OK", 1, false, CommandMetric::Take::Count});
  plan::Reduction tail(CommandMetric::Take::Percentile);
  tail.percentile = 99;
  study.measure(CommandMetric{"tail", From::Json, "out-*.json", "/loss/*/v", 2, false, tail});
  store::Trial trial = study.one();
  REQUIRE((trial.status == store::TrialStatus::Valid));
  CHECK(trial.metrics.at("value") == 3);
  CHECK(!trial.metrics.contains("energy"));
  CHECK(trial.not_on_device == List{"energy"});
  CHECK(trial.series.at("loss") == std::vector<double>{2, 10});
  CHECK(trial.metrics.at("passed") == 2);
  CHECK(trial.metrics.at("tail") == doctest::Approx(9.92));
  CHECK(trial.notes == std::vector<plan::Note>{{plan::Note::FewValues, "tail", 100, "p99"}});
  CHECK((study.run().ending == Ending::NothingToDo));  // it counts
  study.command().metrics[1].optional = false;
  CHECK(has(study.failure(), "the metric energy, read from standard output"));
}

TEST_CASE("a name with a star is that of one file, and of no input") {
  Study study(python("[open(f'out-{n}.csv', 'w').write('a\\n1') for n in (1, 2)]"));
  study.measure(CommandMetric{"a", CommandMetric::From::Csv, "out-*.csv", "a", 1, false});
  CHECK(has(study.failure(), "read from 'out-*.csv': 2 files match: out-1.csv, out-2.csv"));
  study.command().metrics[0].file = "no-*.csv";
  CHECK(has(study.failure(), "the program did not write this file"));
  study.write("in.csv", "a\n1");
  study.command().inputs = {"in.csv"};
  study.command().metrics[0].file = "*.csv";
  CHECK(has(study.refusal(), "is read from '*.csv', which is an input"));
}

TEST_CASE("what prepares runs once for the parameters that it is told, before any trial") {
  Study study({"${prepared}/bench", "${level}"}, 2);
  study.plan.points.clear();
  for (int level : {1, 2})
    for (const char* build : {"a", "b"}) study.point(llvm::json::Object{{"level", level}, {"build", build}});
  study.write("build.py", R"(
import os, sys
open(os.environ['EXPC_STUDY_FOLDER'] + '/log', 'a').write(sys.argv[1])
if sys.argv[1] == 'b' and os.path.exists(os.environ['EXPC_STUDY_FOLDER'] + '/broken'): sys.exit('no rule to make b')
open('bench', 'w').write(f'#!/bin/sh\necho t ${{1}}{int(sys.argv[1] == "b")}\n')
os.chmod('bench', 0o755)
assert os.getcwd() == sys.argv[2] == os.environ['EXPC_PREPARED']
)");
  study.command().preparation = plan::Preparation{{"/usr/bin/python3", "build.py", "${build}", "${prepared}"}, {}};
  study.regex("t ([0-9]+)");
  const auto log = [&] {
    std::string text;
    std::ifstream(study.path + "/log") >> text;
    return text;
  };
  study.write("broken", "");
  CHECK(has(study.refusal(), "preparing workload tool for"));
  CHECK(log() == "ab");
  CHECK(!store::isStore(study.options.results));
  fs::remove(study.path + "/broken");
  CHECK((study.run().ending == Ending::Complete));
  CHECK(log() == "abb");  // what was done is kept
  const auto trials = study.trials();
  REQUIRE(trials.size() == 8);
  for (const store::Trial& trial : trials) {
    const plan::Point& point = *study.plan.findPoint(trial.key->place.point);
    const bool b = *point.parameters.getString("build") == "b";
    CHECK(trial.metrics.at("value") == 10 * *point.parameters.getInteger("level") + b);
  }
  CHECK((study.run().ending == Ending::NothingToDo));
  study.write("build.py", "import sys; sys.exit('gone')");
  CHECK(has(study.refusal(), "gone"));  // another input: to be prepared anew
}

TEST_CASE("a prepared program that is another one measures anew") {
  for (const List& arguments : {List{"${prepared}/bench"}, List{"/bin/sh", "${prepared}/bench"}}) {
    Study study(arguments, 2);
    study.regex("t ([0-9]+)");
    // The source is no input, like one that is downloaded.
    study.command().preparation = plan::Preparation{python(R"(
import os
open('bench', 'w').write('#!/bin/sh\necho t ' + open(os.environ['EXPC_STUDY_FOLDER'] + '/source').read())
os.chmod('bench', 0o755))"),
                                                    {}};
    const auto values = [&] {
      std::vector<double> all;
      for (const store::Trial& trial : study.trials()) all.push_back(trial.metrics.at("value"));
      return all;
    };
    const auto clear = [&] { fs::remove_all(study.options.results + "/prepared"); };
    study.write("source", "1\n");
    CHECK(study.run().trials == 2);
    clear();
    CHECK((study.run().ending == Ending::NothingToDo));
    study.plan.design.kinds[0].repeat = 3;
    CHECK(study.run().trials == 1);
    clear();
    study.write("source", "2\n");
    CHECK((study.run().ending == Ending::NothingToDo));  // nothing is prepared for that
    study.plan.design.kinds[0].repeat = 4;
    const Ran ran = study.run();
    CHECK(ran.trials == 4);
    CHECK(std::ranges::any_of(ran.messages, [](const std::string& text) {
      return has(text, "stored but ignored: 3 trials") && has(text, "/bench has changed");
    }));
    CHECK(values() == std::vector<double>(4, 2));
    const std::string folder = fs::directory_iterator(study.options.results + "/prepared")->path().stem().string();
    const std::string file = "results/prepared/" + folder + "/bench";
    study.write(file, "#!/bin/sh\necho t 3\n");
    CHECK(study.run().trials == 4);
    CHECK(values() == std::vector<double>(4, 3));
    clear();
    study.write("source", "3\necho '#' >> $0\n");  // each trial makes it another one
    study.plan.design.kinds[0].repeat = 5;
    CHECK(has(study.refusal(), "bench' has changed during the run"));
    const auto trials = study.trials();
    REQUIRE(trials.size() == 1);
    CHECK((trials[0].status == store::TrialStatus::Failed));
  }
}

TEST_CASE("an interrupted run says which command continues") {
  struct Impatient : ProgressListener {
    void message(std::string_view text) override { said += std::string(text) + "\n"; }
    void trialEnded(const TrialNote&, store::TrialStatus, double, std::string_view) override { raise(SIGTERM); }
    std::string said;
  };
  Study study(python("print('t 1')"), 3);
  study.regex("t ([0-9]+)");
  const auto interrupted = [&] {
    Impatient listener;
    auto outcome = engine::run(study.plan, study.options, listener);
    REQUIRE(outcome);
    CHECK((outcome->ending == Ending::Interrupted));
    CHECK(outcome->valid == 1);
    return listener.said;
  };
  CHECK(has(interrupted(), "1 trial of this run is stored, and the same command continues"));
  study.options.fresh = true;
  CHECK(has(interrupted(), "and the same command without --fresh continues"));
  CHECK(has(interrupted(), "with --fresh it starts over"));
  study.options.fresh = false;
  CHECK((study.run().ending == Ending::NothingToDo));
}

TEST_CASE("old and new program are compared, and a new build measures itself alone again") {
  Study study({"${build}"}, 2);
  study.plan.points.clear();
  study.plan.data_paths = {"./new.sh", "./old.sh"};
  for (const char* build : {"./old.sh", "./new.sh"}) {
    study.point(llvm::json::Object{{"build", build}});
    study.write(build, "#!/bin/sh\necho t 1\n");
    fs::permissions(study.path + "/" + build, fs::perms::owner_all);
  }
  study.regex("t ([0-9]+)");
  CHECK(study.run().trials == 4);
  study.write("new.sh", "#!/bin/sh\necho t 2\n");
  CHECK(study.run().trials == 2);
  for (const store::Trial& trial : study.trials())
    CHECK(trial.metrics.at("value") == (trial.key->place.point == study.plan.points[0].id ? 1 : 2));
}

TEST_CASE("folders of valid trials are kept for whoever asks") {
  Study study(python("open('artefact', 'w').write('x')"));
  study.measure("wall");
  study.options.keep_trial_folders = true;
  const store::Trial trial = study.one();
  CHECK(fs::exists(fmt::format("{}/trials/{}/artefact", study.options.results, trial.id)));
}
