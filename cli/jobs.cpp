// Detached and submitted runs: submits a run to a cluster (`run --on`), leaves one in the background (`run --detach`),
// and shows, follows and ends such runs (status, attach, cancel). Before a run waits in a queue, every mistake that can
// be known now is reported. Records of jobs lie in the folder of jobs inside the results; reading and writing them,
// scripts and the queue belong to runtime/cluster.

#include "runtime/cluster/jobs.h"

#include <fcntl.h>
#include <llvm/Support/FileSystem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <thread>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "compiler/lower/lower.h"
#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/printable.h"
#include "runtime/base/text.h"
#include "runtime/cluster/slurm.h"
#include "runtime/engine/inputs/command_files.h"
#include "runtime/engine/inputs/data.h"

namespace expc::cli {

namespace {

namespace fs = std::filesystem;
using cluster::JobRecord;
using cluster::JobState;
using cluster::JobView;

/// Returns the command line that the job itself executes: this one, without the options that say where it runs. The
/// program is this executable, whatever PATH says on the cluster.
std::vector<std::string> ownCommand(const std::vector<std::string>& words) {
  std::error_code failed;  // without /proc no job can run either
  std::vector<std::string> command{fs::read_symlink("/proc/self/exe", failed).string()};
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--dry-run" || word == "--detach" || word.starts_with("--on=") || word.starts_with("--site=")) continue;
    if (word == "--on" || word == "--site")
      ++i;
    else
      command.push_back(word);
  }
  return command;
}

/// Describes the nodes of a job for messages: "2 nodes with 4 GPUs each".
std::string systemText(const check::System& system) {
  const auto number = [&](const char* property) {
    return system[property] ? int64_t(system[property]->asNumber()->toDouble()) : 0;
  };
  const int64_t nodes = number("nodes"), gpus = number("gpus");
  const std::string text = nodes == 0 ? "the nodes of the job" : base::counted(nodes, "node");
  return gpus > 0 ? fmt::format("{} with {}{}", text, base::counted(gpus, "GPU"), nodes == 1 ? "" : " each") : text;
}

/// Returns what is known of a job's nodes from the site file's own settings, for rules with `system`. Everything else
/// stays unknown.
check::System systemOf(const cluster::Site& site, const MachineOptions& machine) {
  check::System system = check::System::unknown("local");
  const auto set = [&](const char* property, StringRef text) {
    int64_t number = 0;
    // Slurm also takes a type before the number, as in h100:4.
    if (!text.rsplit(':').second.getAsInteger(10, number) || !text.getAsInteger(10, number))
      system.set(property, check::Value::number(number));
  };
  // One node is Slurm's default, unless an option that we do not read says otherwise.
  const bool others = llvm::any_of(
      site.options, [](StringRef option) { return option.starts_with("-N") || option.starts_with("--nodes"); });
  if (!others) set("nodes", "1");
  for (const auto& [option, value] : site.asked)
    if (option == "--nodes")
      set("nodes", value);
    else if (option == "--gpus-per-node" && machine.devices.empty() && machine.null_gpus.empty())
      set("gpus", value);
  if (machine.nodes) set("nodes", std::to_string(*machine.nodes));
  return system;
}

/// Reports every mistake that can be known before the job is queued: errors of the study, missing inputs, and rules
/// that leave the job's nodes no point. If the site file sets something up or loads modules first, that may bring data
/// and programs, so these are not looked for.
Error canStart(const RunOptions& options, const cluster::Site& site, const check::System& system,
               const Console& console) {
  // A plan was compiled elsewhere, and perhaps for another machine.
  if (fs::path(options.study.file).extension() != ".exp") return Error::success();
  Compilation compilation;
  TRY(openWithoutErrors(options.study, console, compilation));
  std::vector<std::string> idle;
  bool any = false;
  for (const auto& prepared : points::Prepared::all(*compilation.program, options.study, &system, compilation.emitter,
                                                    lower::kMaxPlanPoints)) {
    const auto plan = lower::planOf(*prepared, compilation.emitter);
    if (!plan) continue;
    if (llvm::all_of(plan->points, [](const Point& point) { return !point.unavailable.empty(); }) &&
        !plan->points.empty())
      idle.push_back(fmt::format("study {}: no point can run on {}: {}", plan->study, systemText(system),
                                 plan->points.front().unavailable));
    else
      any = true;
    if (site.setup.empty()) TRY(engine::inputs::checkDataExists(*plan));
    if (site.setup.empty() && site.modules.empty()) TRY(engine::inputs::findCommandFiles(*plan, options.results));
  }
  if (compilation.emitter.errors() > 0) {
    showDiagnostics(compilation, console);
    return ended(compilation.code(), "");
  }
  for (const std::string& why : idle) console.error(why);
  return any || idle.empty() ? Error::success() : ended(kNothingRan, "");
}

/// Reads the site file, if there is one, and checks that the variables that it passes on are set here.
Expected<cluster::Site> siteOf(const RunOptions& options) {
  if (options.site.empty()) return cluster::Site();
  auto site = TRY(cluster::readSite(options.site));
  for (const auto* names : {&site.exported, &site.secrets})
    for (const std::string& name : *names)
      if (!std::getenv(name.c_str()))
        return failure("{} passes on the variable {}, which is not set here: export it first", options.site, name);
  return site;
}

/// Submits a script and records the job. The script is written before its id is known, so it has a temporary name until
/// then.
Expected<JobRecord> submitScript(const RunOptions& options, const std::string& folder, const std::string& script) {
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string path = fmt::format("{}/submitted.{}.sh", folder, getpid());
  TRY(files::write(path, script, files::Links::Refused));
  auto id = cluster::submit(path);
  if (!id) {
    fs::remove(path, error);
    return id.takeError();
  }
  JobRecord job;
  job.cluster = "slurm";
  job.id = *id;
  job.name = "slurm-" + *id;
  job.study = options.study.file;
  job.submitted = double(std::time(nullptr));
  // The script stays beside the record, to look up what was submitted.
  fs::rename(path, folder + "/" + job.name + ".sh", error);
  TRY(cluster::writeJob(folder, job));
  return job;
}

/// Describes a job's state: "ended with exit code 3: a criterion fails".
std::string stateText(const JobView& view) {
  const char* word = view.state == JobState::Unknown   ? "unknown"
                     : view.state == JobState::Pending ? "pending"
                     : view.state == JobState::Running ? "running"
                                                       : "ended";
  std::string text = word;
  if (view.code) text += fmt::format(" with exit code {}", *view.code);
  if (const auto meaning = meaningOf(view.code.value_or(-1)); !meaning.empty()) text += fmt::format(": {}", meaning);
  if (!view.note.empty()) text += " (" + view.note + ")";
  return text;
}

/// Prints what was added to a log since `told`, its length at the last call. A log that is not there yet has nothing.
void showMore(const std::string& path, size_t& told, const Console& console) {
  auto log = files::read(path, files::kMost, files::Links::Refused);
  if (!log) return consumeError(log.takeError());
  const StringRef more = (*log)->getBuffer().drop_front(std::min(told, (*log)->getBufferSize()));
  told += more.size();
  console.print(more);
}

/// Prints a job's log and changes of its state until it ends; returns its exit code. A local job whose state is unknown
/// has lost its process and is given up; a cluster may answer again.
Exit follow(const std::string& folder, const JobRecord& job, const Console& console) {
  size_t told = 0;
  std::string last;
  while (true) {
    auto views = TRY(cluster::look(folder, {job}));
    const JobView& view = views.at(job.name);
    showMore(folder + "/" + job.name + ".log", told, console);
    if (const std::string text = stateText(view); text != last) console.message(job.name + ": " + (last = text));
    if (view.state == JobState::Ended) return view.code.value_or(kError);
    if (job.cluster.empty() && view.state == JobState::Unknown) return kError;
    // Half a second is fast enough for a reader; cluster::look asks Slurm at most once in ten seconds.
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

/// Returns the commands that follow and end a job.
std::string waysOn(const JobRecord& job, const std::string& results) {
  const std::string rest = results == "results" ? "" : " --results " + base::shellWord(results);
  return fmt::format("{}: follow it with `expc attach {}{}`, stop it with `expc cancel {}{}`", job.name, job.name, rest,
                     job.name, rest);
}

/// Returns the job that the options name, or all jobs if they name none. The error says how to list them.
Expected<std::vector<JobRecord>> chosenJobs(const JobOptions& options, const Console& console) {
  std::vector<std::string> messages;
  auto jobs = cluster::readJobs(cluster::jobsFolder(options.results), messages);
  console.messages(messages);
  if (options.job.empty()) return jobs;
  for (const JobRecord& job : jobs)
    if (job.name == options.job || job.id == options.job) return std::vector{job};
  return failure("{} has no job '{}'; `expc status` lists all jobs", options.results, options.job);
}

}  // namespace

Exit submitRun(const RunOptions& options, const Console& console) {
  auto site = TRY(siteOf(options));
  TRY(canStart(options, site, systemOf(site, options.machine), console));
  const std::string folder = cluster::jobsFolder(options.results);
  const cluster::Job job{fs::path(options.study.file).stem().string(), ownCommand(options.words),
                         fs::current_path().string(), folder};
  // Names end up in a script for the shell and for Slurm's own parser, which cannot quote control characters.
  for (const std::string& name : {job.name, job.folder, job.jobs})
    if (base::printable(name) != name)
      return failure("{}: has a control character or is not UTF-8, so a script for Slurm cannot name it", name);
  const std::string script = cluster::renderScript(site, job);
  if (options.dry_run) return console.printRaw(script) ? kSuccess : kError;
  auto submitted = TRY(submitScript(options, folder, script));
  console.message(waysOn(submitted, options.results));
  if (options.detach) return kSuccess;
  return follow(folder, submitted, console);
}

Exit detachRun(const RunOptions& options, const Console& console, Exit (*run)(const RunOptions&, const Console&)) {
  TRY(canStart(options, {}, check::System::unknown("local"), console));
  const std::string folder = cluster::jobsFolder(options.results);
  std::error_code error;
  fs::create_directories(folder, error);
  base::Pipe ready;
  if (ready.read < 0) return failure("cannot make a pipe");
  // The child reports through a pipe once its record is written; the parent waits for that, so that `expc status` finds
  // the job at once. The pipe closes without a word if the child fails.
  const pid_t child = fork();
  if (child < 0) return failure("cannot start a process");
  if (child > 0) {
    ready.write.close();
    char word = 0;
    if (read(ready.read, &word, 1) != 1) return failure("cannot write into {}", folder);
    JobRecord job;
    job.name = fmt::format("local-{}", child);
    console.message(waysOn(job, options.results));
    return kSuccess;
  }
  // A session of its own leaves the terminal, and SIGHUP is ignored, so closing the terminal ends nothing.
  setsid();
  std::signal(SIGHUP, SIG_IGN);
  const JobRecord job = cluster::ownProcess(options.study.file);
  const int log = files::openLog(folder + "/" + job.name + ".log");
  const int nothing = ::open("/dev/null", O_RDONLY);
  // _exit, since this is a copy of the parent: its destructors and buffers must not run twice.
  if (llvm::errorToBool(cluster::writeJob(folder, job)) || log < 0) _exit(kError);
  // All standard streams are replaced, or the terminal could not be closed.
  dup2(nothing, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  [[maybe_unused]] const ssize_t written = ::write(ready.write, "r", 1);
  ready.write.close();
  const int code = console.codeOf(run(options, console));
  cluster::writeCode(folder, job.name, code);
  return code;
}

Exit status(const JobOptions& options, const Console& console) {
  auto jobs = TRY(chosenJobs(options, console));
  if (jobs.empty()) console.message("{} has no detached or submitted runs", options.results);
  auto views = TRY(cluster::look(cluster::jobsFolder(options.results), jobs));
  for (const JobRecord& job : jobs)
    console.print(base::printable(job.name + "  " + job.study + "  " + stateText(views.at(job.name))) + "\n");
  return kSuccess;
}

Exit attach(const JobOptions& options, const Console& console) {
  auto jobs = TRY(chosenJobs(options, console));
  if (jobs.empty()) return failure("{} has no detached or submitted runs", options.results);
  return follow(cluster::jobsFolder(options.results), jobs.back(), console);
}

Exit cancel(const JobOptions& options, const Console& console) {
  const std::string folder = cluster::jobsFolder(options.results);
  auto jobs = TRY(chosenJobs(options, console));
  auto views = TRY(cluster::look(folder, jobs));
  int code = kSuccess;
  size_t over = 0;
  for (const JobRecord& job : jobs) {
    // `over` counts jobs that had ended already.
    if (views.at(job.name).state == JobState::Ended && ++over) continue;
    if (auto error = cluster::cancel(folder, job))
      code = console.error(std::move(error));
    else
      console.message("{} is being stopped; its measurements are kept", job.name);
  }
  // Say so: silence would look like a job that was ended.
  if (over == jobs.size())
    console.message(options.job.empty()
                        ? fmt::format("{}: nothing to stop", options.results)
                        : fmt::format("{} has already {}", options.job, stateText(views.begin()->second)));
  return code;
}

}  // namespace expc::cli
