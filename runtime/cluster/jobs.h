#pragma once

// Runs that nobody waits for: jobs of a cluster, and detached processes of this machine. Each has a JSON file in the
// folder `jobs` of its results, beside its log and, once it has ended, a file with its exit code. Anybody may have
// written these files, so a file alone is never trusted to name a process.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::cluster {

/// A job, as its file describes it.
struct JobRecord {
  std::string name;      // "slurm-12", "local-4711"; also the stem of its files' names
  std::string cluster;   // "slurm"; "": a process on a machine
  std::string id;        // number of the job or of the process
  std::string study;     // path of the study file
  std::string host;      // for a process: the machine it is on
  std::string began;     // for a process: start in the kernel's ticks, which tells it from a later one with its number
  double submitted = 0;  // wall time, seconds since 1970
};

/// The state of a job, as far as it can be told.
enum class JobState { Unknown, Pending, Running, Ended };

/// A job as it is now.
struct JobView {
  JobState state = JobState::Unknown;
  std::optional<int> code;  // exit code of the run, if it left one
  std::string note;         // the cluster's word: "Priority", "TIMEOUT", …
};

/// The folder for the jobs of a results folder, as an absolute path.
std::string jobsFolder(const std::string& results);

/// Writes the job's file, and removes the exit code of an earlier job with this name.
Error writeJob(const std::string& folder, const JobRecord& job);
/// The jobs of a folder, oldest first. A file that is no job's is left out and named in `messages`, so that it does not
/// hide the others.
std::vector<JobRecord> readJobs(const std::string& folder, std::vector<std::string>& messages);
/// Reads the text of a job's file. Error: it is damaged, of another version, or its name and number disagree.
Expected<JobRecord> parseJob(const std::string& text);
std::string writtenJob(const JobRecord& job);

/// The record of this process, which is about to run detached.
JobRecord ownProcess(std::string study);
/// Writes the exit code of a run beside its job's file. Errors are ignored: nobody is there to be told.
void writeCode(const std::string& folder, const std::string& name, int code);

/// The state of each job, by name. Slurm is asked in one call for all jobs, and at most once in ten seconds for each
/// folder. Error: Slurm's commands fail.
Expected<std::map<std::string, JobView>> look(const std::string& folder, const std::vector<JobRecord>& jobs);
/// Asks the job to end; success if it is over. Error: it runs on another machine, or cannot be signalled.
Error cancel(const std::string& folder, const JobRecord& job);

}  // namespace expc::cluster
