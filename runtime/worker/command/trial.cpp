// One trial of a command, from its specification to its last event. The steps: check everything
// that can be checked, run the program, judge its end, drop stale files, keep the output, check
// expectations, read metrics. Only rank 0 reads metrics. The process may run many trials in turn
// (serve.h), so nothing global may stay behind.

#include "runtime/worker/command/trial.h"

#include <llvm/Support/FileSystem.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "runtime/base/entry.h"
#include "runtime/base/files/files.h"
#include "runtime/base/files/words.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/process.h"
#include "runtime/base/text.h"
#include "runtime/plan/command.h"
#include "runtime/plan/trial_report.h"
#include "runtime/protocol/trial.h"
#include "runtime/worker/command/kept_output.h"
#include "runtime/worker/command/metrics.h"
#include "runtime/worker/command/process.h"
#include "runtime/worker/command/ranks.h"
#include "runtime/worker/command/readers.h"
#include "runtime/worker/command/service.h"
#include "runtime/worker/command/stacks.h"
#include "runtime/worker/serve/memory_group.h"
#include "runtime/worker/serve/serve.h"

namespace expc::command {
namespace {

/// The time for reading all metrics of a trial, in seconds.
constexpr unsigned kReadSeconds = 120;
constexpr size_t kTail = 64 << 10;  // bytes at the end of an output, where a program says why it failed

/// The identity of a file and its last modification, to tell whether a program wrote it.
using Written = std::pair<llvm::sys::fs::UniqueID, llvm::sys::TimePoint<>>;

/// The state of a regular file; nothing if there is none.
std::optional<Written> writtenAt(const std::string& path) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status) || !llvm::sys::fs::is_regular_file(status)) return std::nullopt;
  return Written{status.getUniqueID(), status.getLastModificationTime()};
}

// The state of the deadline. The handler of SIGALRM reads it and may do little more than write and
// exit, so the line to write is prepared in advance. Two lines alternate: one may be read while the
// other is replaced.
int deadline_fd = -1;
std::string last_lines[2];
std::atomic<int> current_line{0};

void onAlarm(int) {
  const std::string& line = last_lines[current_line.load()];
  [[maybe_unused]] ssize_t written = ::write(deadline_fd, line.data(), line.size());
  _exit(1);
}

/// The course of one trial.
class Trial {
 public:
  Trial(const protocol::LaunchRequest& request, int event_fd, serve::KernelLog& kernel_log)
      : spec_(request.spec), rank_(request.rank), events_(event_fd), event_fd_(event_fd), kernel_log_(kernel_log) {}
  int run();

 private:
  /// Checks the specification, and prepares folder, arguments and environment.
  Error prepare();
  /// Runs the program as a service. @returns the exit code
  int serve();
  /// Decides by the program's end whether the trial failed. @returns the exit code of this rank
  int judge(const ProgramEnd& end);
  /// Ends the trial as failed. @returns 1
  int giveUp(const std::string& why) { return events_.failed(why), 1; }
  /// Sends the result of a rehearsal. @returns the exit code
  int rehearsed(const ProgramEnd& end);
  /// Verifies and reads; sends the result. @returns the exit code
  int readMetrics(const ProgramEnd& end);
  int processOf(const plan::Service& service) const;
  void keep(const ProgramEnd& end) const;
  void dropUnwritten() const;
  bool endedWell(int status) const;
  /// The end in words, with the program's own error line.
  std::string howItEnded(const ProgramEnd& end) const;
  /// ": " behind `lead`, and the line with which the program explained its end; "" if there is none.
  std::string lastWords(const char* lead = "") const;
  /// Ends the trial: infeasible if the program said on purpose that memory ran out, or if the
  /// kernel's log names it; else failed. Kills that the kernel counts for the trial's group are
  /// reported by the launch server. @returns 1
  int fail(const std::string& reason, const ProgramEnd& end);
  /// Prints the end of the outputs to the trial's log.
  void log() const;
  /// A program that runs out of memory may write a line to this file.
  std::string outOfMemoryFile() const { return spec_.folder + "/out-of-memory.txt"; }

  const protocol::TrialSpec& spec_;
  const unsigned rank_;
  serve::EventWriter events_;
  const int event_fd_;
  Program program_;
  std::optional<MetricReader> reader_;
  /// Files that will be read, as they were before the program ran.
  std::map<std::string, std::optional<Written>> given_;
  serve::KernelLog& kernel_log_;
  /// The values that the services took while the program ran, by metric; without a value: the kernel does not tell.
  std::map<std::string, std::optional<double>> of_services_;
};

Error Trial::prepare() {
  if (!spec_.command) return failure("this worker runs commands only, and the trial has none");
  reader_ = TRY(MetricReader::make(*spec_.command, spec_.metrics));
  auto arguments = TRY(plan::expandArguments(spec_.command->arguments, protocol::argumentValues(spec_)));
  if (arguments.empty() || arguments.front().empty())
    return failure("the command has no program to run: its name comes from an inactive parameter");
  program_.arguments = std::move(arguments);
  program_.path = plan::programPath(program_.arguments.front(), spec_.root);
  program_.folder = spec_.folder;
  program_.out = plan::outputOf(spec_.folder, kOutput, rank_);
  program_.err = plan::outputOf(spec_.folder, kErrors, rank_);
  program_.most_output = spec_.log_limit;
  std::error_code failed;
  for (const std::string& folder : {spec_.folder, plan::outputsOf(spec_.folder)})
    if (!failed) std::filesystem::create_directories(folder, failed);
  if (failed) return failure("cannot make the trial's folder '{}': {}", spec_.folder, failed.message());
  // Remember the files' state now: a copy of an old result must not be read as a new one
  // (dropUnwritten()).
  for (const std::string& file : filesRead(*spec_.command))
    if (file != kOutput && file != kErrors) given_[spec_.folder + "/" + file] = writtenAt(spec_.folder + "/" + file);
  // Variables that a program may use (docs/layers/commands.md).
  setenv("EXPC_OUT_OF_MEMORY", outOfMemoryFile().c_str(), 1);
  setenv("EXPC_TRIAL", spec_.trial.c_str(), 1);
  setenv("EXPC_TRIAL_FOLDER", spec_.folder.c_str(), 1);
  setenv("EXPC_STUDY_FOLDER", spec_.root.c_str(), 1);
  // The trial as Python's `import expc` reads it (python/expc).
  if (plan::asksTrial(*spec_.command))
    setenv("EXPC_TRIAL_REQUEST",
           canonicalJson(json::Object{{"kind", std::string(toString(spec_.kind))},
                                      {"seed", int64_t(spec_.seed)},
                                      {"settings", json::Object(spec_.settings)},
                                      {"parameters", json::Object(spec_.parameters)},
                                      {"report", jsonText(spec_.folder + "/" + plan::kTrialFile)}})
               .c_str(),
           1);
  if (!spec_.prepared.empty()) setenv("EXPC_PREPARED", spec_.prepared.c_str(), 1);
  setenv("PYTHONFAULTHANDLER", "1", 0);  // Python then tells where it is (stacks.h)
  setenv("EXPC_SEED", std::to_string(spec_.seed).c_str(), 1);
  return Error::success();
}

int Trial::run() {
  if (auto error = prepare()) return giveUp(toString(std::move(error)));
  if (spec_.isService()) return serve();
  // No `started` event: nobody needs it, and it would wake the engine while the program is
  // measured.
  std::vector<std::pair<const plan::Ready*, ServiceUse>> uses;
  for (const plan::Service& service : spec_.command->services) {
    const plan::Ready& ready = *service.command.ready;
    if (const int pid = processOf(service); pid > 0 && !(ready.cpu_time + ready.memory).empty())
      uses.emplace_back(&ready, pid);
  }
  StackAttendant stacks(spec_.rehearsal ? double(spec_.settings.getInteger("seconds").value_or(0)) : INFINITY);
  program_.attendant = &stacks;
  auto end = runProgram(program_);
  program_.attendant = nullptr;
  for (const auto& [ready, use] : uses) {
    of_services_[ready->cpu_time] = use.cpuSeconds();
    of_services_[ready->memory] = use.peakBytes();
  }
  int code = 1;
  if (end && stacks.wasTold() && !stacks.places().empty())
    events_.failed(stacks.places());
  else if (end && !stacks.wasTold())
    code = stacks.wasCut() ? rehearsed(*end) : judge(*end);
  else if (!end)
    events_.failed(toString(end.takeError()));
  if (code != 0) log();
  return code;
}

int Trial::serve() {
  const auto valueOf = [&](const char* name) { return valueIn(spec_.values, name).value_or(""); };
  const std::string port = valueOf("port");
  // A program of somebody else at this port might answer in the service's place.
  if (!port.empty() && !isFree(port)) return giveUp(fmt::format("port {} is taken by another program", port));
  // The engine learns when it was ready as the progress of a phase, in microseconds.
  auto attendant =
      ServiceAttendant::make(program_, *spec_.command->ready, valueOf("host"), port, [&](double seconds, pid_t pid) {
        events_.progress(uint64_t(seconds * 1e6), uint64_t(pid), protocol::kReadyPhase);
      });
  if (!attendant) return giveUp(toString(attendant.takeError()));
  program_.attendant = &*attendant;
  auto end = runProgram(program_);
  program_.attendant = nullptr;
  if (!end) return giveUp(toString(end.takeError()));
  int code = 1;
  if (!end->stuck.empty() || end->flooded)
    code = judge(*end);
  else if (attendant->wasTold())
    code = events_.write({.type = protocol::Event::Type::Result}) ? 0 : 1;
  else if (!attendant->late().empty())
    code = fail(attendant->late() + lastWords("; its last output"), *end);
  else if (end->status == 0 && end->left_behind > 0)
    code = fail("ended and left processes behind: a service stays in the foreground", *end);
  else
    code = fail(howItEnded(*end), *end);
  if (code != 0) log();
  return code;
}

int Trial::judge(const ProgramEnd& end) {
  // This process must end, so that its server looks after what is left.
  if (!end.stuck.empty())
    return giveUp(fmt::format("{} left process {} behind, which was killed but is still running",
                              program_.arguments.front(), end.stuck.front()));
  if (end.flooded)
    return giveUp(fmt::format("{} was stopped: it wrote more than {} to an output", program_.arguments.front(),
                              protocol::logLimitText(spec_.log_limit)));
  if (!endedWell(end.status)) return fail(howItEnded(end), end);
  if (spec_.rehearsal) return rehearsed(end);
  // An unmeasured start has no metrics, and leaves no file for the measured one in the same folder.
  if (spec_.world_size == 1 || spec_.metrics.empty()) return rank_ == 0 ? readMetrics(end) : 0;
  ProgramEnd all = end;
  auto error = rank_ == 0 ? joinEnds(spec_.folder, spec_.world_size, serve::localRanks(), spec_.trial, all)
                          : leaveEnd(spec_.folder, rank_, spec_.trial, end);
  if (error) return fail(toString(std::move(error)), end);
  return rank_ == 0 ? readMetrics(all) : 0;  // rank 0 speaks for the trial
}

int Trial::rehearsed(const ProgramEnd& end) {
  // The null libraries' records have the other counts, and the engine reads them.
  protocol::RehearsedRank rank;
  rank.host_memory = end.peak_bytes;
  return events_.write({.type = protocol::Event::Type::Result, .rehearsed = protocol::Rehearsed{.ranks = {rank}}}) ? 0
                                                                                                                   : 1;
}

bool Trial::endedWell(int status) const {
  const std::vector<unsigned>& codes = spec_.command->exit_codes;
  return codes.empty() ? status == 0 : WIFEXITED(status) && std::ranges::count(codes, unsigned(WEXITSTATUS(status)));
}

std::string Trial::howItEnded(const ProgramEnd& end) const {
  std::string text = program_.arguments.front();
  if (WIFSIGNALED(end.status))
    text += fmt::format(" was killed by signal {} ({})", WTERMSIG(end.status), strsignal(WTERMSIG(end.status)));
  else
    text += fmt::format(" exited with code {}", WEXITSTATUS(end.status));
  const std::string words = lastWords();
  return words.empty() ? fmt::format("{} and wrote nothing", text) : text + words;
}

std::string Trial::lastWords(const char* lead) const {
  // Programs explain themselves on standard error, or if that is empty on standard output.
  const std::string errors = files::tail(program_.err, kTail);
  const std::string words = files::errorLine(errors.empty() ? files::tail(program_.out, kTail) : errors);
  return words.empty() ? "" : lead + (": " + words);
}

int Trial::fail(const std::string& reason, const ProgramEnd& end) {
  // The program's own statement comes first: a program that runs out of a GPU's memory is not
  // killed by the kernel, and only the program knows.
  const std::string said = files::errorLine(files::tail(outOfMemoryFile(), kTail));
  const bool killed = WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGKILL;
  const std::string logged = killed ? kernel_log_.killed(end.pid) : "";
  if (!said.empty())
    events_.infeasible(fmt::format("{} reported that it ran out of memory: {}", program_.arguments.front(), said));
  else if (!logged.empty())
    events_.infeasible(fmt::format("{} (the kernel's log says '{}')", reason, logged));
  else
    events_.failed(reason);
  return 1;
}

/// Keeps the output, so that metrics that were read wrongly need not be measured again.
void Trial::keep(const ProgramEnd& end) const {
  if (spec_.outputs.empty()) return;
  const std::vector<std::string> files = filesRead(*spec_.command);
  if (auto error = keepOutput(spec_.outputs, spec_.folder, files, end))
    std::printf("the output is not stored: %s\n", toString(std::move(error)).c_str());
}

/// Removes files that the program left unchanged: they are copies of inputs and not its output,
/// whatever their names are.
void Trial::dropUnwritten() const {
  std::error_code ignored;
  for (const auto& [path, written] : given_)
    if (written && written == writtenAt(path)) std::filesystem::remove(path, ignored);
}

/// The process of a service on this node; 0: it runs on another one.
int Trial::processOf(const plan::Service& service) const { return rank_ == 0 ? spec_.processOf(service) : 0; }

int Trial::readMetrics(const ProgramEnd& end) {
  // A client may succeed although its connections were lost.
  for (const plan::Service& service : spec_.command->services)
    if (const int pid = processOf(service); pid > 0 && !base::processOf(pid).runs())
      return fail(fmt::format("the service {} ended while the command ran", service.name), end);
  dropUnwritten();
  if (plan::asksTrial(*spec_.command))
    if (auto error = joinRanks(spec_.folder)) return fail(toString(std::move(error)), end);
  keep(end);
  protocol::Event result{.type = protocol::Event::Type::Result};
  {
    // The deadline names the metric that is being read: a pattern may be too slow on this output.
    Deadline deadline(kReadSeconds, event_fd_);
    const auto next = [&](const plan::CommandMetric& metric) {
      deadline.say(
          protocol::toLine({.type = protocol::Event::Type::Failed,
                            .reason = fmt::format("{} was not read after {} s: '{}' is too slow on this output",
                                                  metric.name, kReadSeconds, metric.where)}) +
          '\n');
    };
    auto error = reader_->verify(spec_.folder, spec_.root, next);
    if (!error) error = reader_->read(spec_.folder, end, result, next);
    if (error) return fail(toString(std::move(error)), end);
  }
  for (const auto& [name, value] : of_services_)
    if (value && result.metrics.get(name)) result.metrics[name] = *value;
  // Recorded as the program saw them.
  const char* threads = std::getenv("OMP_NUM_THREADS");
  const char* devices = std::getenv("CUDA_VISIBLE_DEVICES");
  result.environment = json::Object{{"program", jsonText(end.file)},
                                    {"arguments", base::jsonTexts(program_.arguments)},
                                    {"omp_num_threads", jsonText(threads ? threads : "")},
                                    {"cuda_visible_devices", jsonText(devices ? devices : "")},
                                    {"seed", std::to_string(spec_.seed)}};
  if (end.left_behind > 0) result.notes.emplace_back(plan::Note::LeftBehind, "", double(end.left_behind));
  if (result.metrics.get("host_memory_peak") && end.peak_bytes <= end.least_peak)
    result.notes.emplace_back(plan::Note::StarterPeak);
  events_.write(result);
  return 0;
}

/// Prints what a reader wants to see of a trial that failed: the command line and the end of both
/// outputs.
void Trial::log() const {
  std::printf("%s\n(in %s)\n", base::joined(base::textsOf(program_.arguments, base::shellWord), " ").c_str(),
              program_.folder.c_str());
  for (const auto& [file, name] :
       {std::pair(&program_.out, "standard output"), std::pair(&program_.err, "standard error")}) {
    const std::string tail = files::tail(*file, kTail);
    if (tail.empty()) continue;
    std::printf("--- %s, its end:\n", name);
    std::fwrite(tail.data(), 1, tail.size(), stdout);
    if (tail.back() != '\n') std::fputc('\n', stdout);
  }
  std::fflush(stdout);
}

}  // namespace

Deadline::Deadline(unsigned seconds, int event_fd) {
  deadline_fd = event_fd;
  std::signal(SIGALRM, onAlarm);
  alarm(seconds);
}

Deadline::~Deadline() { alarm(0); }

void Deadline::say(const std::string& event) {
  const int next = 1 - current_line.load();  // never the one that the handler may be writing
  last_lines[next] = event;
  current_line.store(next);
}

int runTrial(const protocol::LaunchRequest& request, int event_fd) {
  static serve::KernelLog kernel_log;  // for this process, which may run many trials
  // Only kills from now on are about this trial.
  kernel_log.skip();
  return Trial(request, event_fd, kernel_log).run();
}

}  // namespace expc::command
