// Jobs: their files, their states and their ends.
//
// A job that left an exit code has ended. Otherwise a process is asked for in /proc, a Slurm job from squeue and sacct.
// Answers of Slurm are kept in a file for ten seconds, because sites ask their users not to poll the controller.

#include "runtime/cluster/jobs.h"

#include <llvm/ADT/StringExtras.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/base/process.h"
#include "runtime/cluster/slurm.h"

namespace expc::cluster {
namespace {

namespace fs = std::filesystem;

constexpr llvm::StringLiteral kSchema = "expc.job/1";
// Bytes of a job's file, and digits of its number: bounds on files of strangers.
constexpr uint64_t kMostOfJob = 64 << 10;
constexpr size_t kMostDigits = 9;
constexpr int kFloorSeconds = 10;  // seconds between two questions to Slurm's controller

using base::hostName;

/// The start of a process in the kernel's ticks since boot; "" if there is none or it is a zombie.
std::string beginOf(const std::string& process) {
  int64_t pid = 0;
  if (StringRef(process).getAsInteger(10, pid)) return "";
  const base::Process found = base::processOf(pid);
  return found.runs() ? std::to_string(found.started) : "";
}

/// The exit code that a job left; absent if it did not end by itself.
std::optional<int> codeOf(const std::string& folder, const std::string& name) {
  int code = 0;
  constexpr uint64_t kLongest = 16;
  const std::string text = files::tail(folder + "/" + name + ".code", kLongest);
  return StringRef(text).trim().getAsInteger(10, code) ? std::nullopt : std::optional(code);
}

/// Whether the process that a job's file names really is this job. Anybody may have written the file, but only a job of
/// this folder has its standard output in the log here. So cancel() never signals a stranger's process.
bool isAtWork(const std::string& folder, const JobRecord& job) {
  std::error_code failed;
  return !job.began.empty() && beginOf(job.id) == job.began &&
         fs::equivalent("/proc/" + job.id + "/fd/1", folder + "/" + job.name + ".log", failed);
}

/// The fields of a job's file. The name must follow from cluster and number, since names of other files derive from it.
void describe(JsonRecord& io, JobRecord& job) {
  std::string schema = kSchema.str();
  io.required("schema", schema, EXPC_NAMED(job, name, cluster, id, study, host, began, submitted));
  if (!io.reads() || io.failed()) return;
  if (schema != kSchema) io.fail("schema", "expected " + kSchema);
  if (job.id.empty() || job.id.size() > kMostDigits || job.id.front() == '0' || !llvm::all_of(job.id, llvm::isDigit))
    io.fail("id", "is not the number of a job or process");
  if (job.name != (job.cluster.empty() ? "local" : job.cluster) + "-" + job.id ||
      (job.cluster != "slurm" && job.cluster != ""))
    io.fail("name", "is not the name of a job with this id");
}

/// The state of a detached process. Processes of other machines cannot be seen from here.
JobView lookAtProcess(const std::string& folder, const JobRecord& job) {
  if (job.host != hostName())
    return {JobState::Unknown, std::nullopt, fmt::format("on {}: run expc status there", job.host)};
  if (isAtWork(folder, job)) return {JobState::Running, std::nullopt, ""};
  return {JobState::Ended, std::nullopt, "no exit code recorded"};
}

/// The view of a job from Slurm's state words (squeue(1), JOB STATE CODES). Unknown words count as pending, with the
/// word or the reason as a note. CANCELLED may be followed by "by UID", hence starts_with.
JobView fromSlurm(const std::string& word, const std::string& reason) {
  // States of jobs that hold their allocation, and then those that are over for good; everything else waits.
  for (const char* running : {"RUNNING", "COMPLETING", "STOPPED", "SUSPENDED", "SIGNALING", "STAGE_OUT"})
    if (word == running) return {JobState::Running, std::nullopt, ""};
  for (const char* over :
       {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "REVOKED"})
    if (StringRef(word).starts_with(over)) return {JobState::Ended, std::nullopt, word};
  return {JobState::Pending, std::nullopt, reason.empty() || reason == "None" ? word : reason};
}

/// The answers of squeue about all jobs of this user, and of sacct about jobs that squeue has forgotten: lines for
/// parseStates(). `ids` are separated by commas. Kept in a file for kFloorSeconds.
Expected<std::string> askSlurm(const std::string& folder, const std::string& ids) {
  const std::string kept = folder + "/slurm.states";
  std::error_code error;
  const auto written = fs::last_write_time(kept, error);
  // An empty file is no answer: a question may have been cut off.
  if (!error && fs::file_time_type::clock::now() - written < std::chrono::seconds(kFloorSeconds))
    if (std::string text = files::tail(kept, files::kMostByHand); !text.empty()) return text;
  auto queue = TRY(output({"squeue", "-h", "-t", "all", "-u", std::to_string(getuid()), "-o", "%i|%T|%r"}));
  // Without accounting (sacct fails) jobs that squeue has forgotten stay unknown.
  const auto past = expectedToOptional(output({"sacct", "-n", "-P", "-X", "-j", ids, "-o", "JobID,State"}));
  const std::string text = past.value_or("") + queue;  // later lines win, and squeue is newer
  TRY(files::write(kept, text, files::Links::Refused));
  return text;
}

}  // namespace

std::string jobsFolder(const std::string& results) {
  return (fs::absolute(results).lexically_normal() / "jobs").string();
}

std::string writtenJob(const JobRecord& job) { return base::prettyJson(JsonRecord::written(job, describe)) + "\n"; }

Expected<JobRecord> parseJob(const std::string& text) {
  auto json = TRY(parseJson(text));
  return base::readRecord<JobRecord>(json, "the job", describe);
}

Error writeJob(const std::string& folder, const JobRecord& job) {
  std::error_code error;
  fs::create_directories(folder, error);
  // Numbers are used again, so an old exit code would end the new job at once; the kept answers do not know it.
  fs::remove(folder + "/" + job.name + ".code", error);
  fs::remove(folder + "/slurm.states", error);
  return files::write(folder + "/" + job.name + ".json", writtenJob(job), files::Links::Refused);
}

std::vector<JobRecord> readJobs(const std::string& folder, std::vector<std::string>& messages) {
  std::vector<JobRecord> jobs;
  const auto skip = [&](const fs::path& path, const std::string& why) {
    messages.push_back(fmt::format("{}: {}; it is ignored, remove it", path.string(), why));
  };
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".json") continue;
    auto text = files::read(entry->path().string(), kMostOfJob, files::Links::Refused);
    if (!text) {
      Error failed = text.takeError();
      if (llvm::errorToErrorCode(std::move(failed)) == std::errc::no_such_file_or_directory) continue;  // removed since
      skip(entry->path(), "is not the record of a job");
    } else if (auto job = parseJob((*text)->getBuffer().str())) {
      jobs.push_back(std::move(*job));
    } else {
      skip(entry->path(), toString(job.takeError()));
    }
  }
  // The name decides between jobs of one second, so that the order is always the same.
  std::ranges::sort(jobs, [](const JobRecord& a, const JobRecord& b) {
    return std::tie(a.submitted, a.name) < std::tie(b.submitted, b.name);
  });
  return jobs;
}

JobRecord ownProcess(std::string study) {
  JobRecord job;
  job.id = std::to_string(getpid());
  job.name = "local-" + job.id;
  job.study = std::move(study);
  job.host = hostName();
  job.began = beginOf(job.id);
  job.submitted = std::time(nullptr);
  return job;
}

void writeCode(const std::string& folder, const std::string& name, int code) {
  consumeError(files::write(folder + "/" + name + ".code", std::to_string(code) + "\n", files::Links::Refused));
}

Expected<std::map<std::string, JobView>> look(const std::string& folder, const std::vector<JobRecord>& jobs) {
  std::map<std::string, JobView> views;
  std::string open;
  for (const JobRecord& job : jobs) {
    // An exit code is the surest sign, and costs no question to Slurm.
    if (const auto code = codeOf(folder, job.name)) {
      views[job.name] = {JobState::Ended, code, ""};
    } else if (job.cluster.empty()) {
      views[job.name] = lookAtProcess(folder, job);
      // The process may have ended between the two looks, and then it has left a code.
      if (const auto since = codeOf(folder, job.name)) views[job.name] = {JobState::Ended, since, ""};
    } else {
      open += (open.empty() ? "" : ",") + job.id;
    }
  }
  if (open.empty()) return views;
  auto text = TRY(askSlurm(folder, open));
  const auto states = parseStates(text);
  for (const JobRecord& job : jobs) {
    if (views.count(job.name)) continue;
    const auto* found = entryOf(states, job.id);
    views[job.name] = found ? fromSlurm(found->first, found->second)
                            : JobView{JobState::Unknown, std::nullopt, "Slurm has no record of it"};
  }
  return views;
}

Error cancel(const std::string& folder, const JobRecord& job) {
  if (!job.cluster.empty()) {
    // The kept answers are removed, so that the next look sees the end.
    auto printed = output({"scancel", job.id});
    std::error_code error;
    fs::remove(folder + "/slurm.states", error);
    return printed ? Error::success() : printed.takeError();
  }
  // A number names a process on its own machine only.
  if (job.host != hostName()) return failure("{} runs on {}: run expc cancel there", job.name, job.host);
  if (!isAtWork(folder, job)) return Error::success();  // it has ended
  if (kill(std::stoi(job.id), SIGTERM) != 0 && errno != ESRCH)
    return failure("cannot stop {}: {}", job.name, std::strerror(errno));
  return Error::success();
}

}  // namespace expc::cluster
