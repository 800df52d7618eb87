#pragma once

// Runs that nobody waits for: jobs of a cluster, and detached processes of this machine. Each has a file in the folder
// `jobs` of its results, beside its log and the code that it ended with.

#include <llvm/Support/Error.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace expc::cluster {

struct JobRecord {
  std::string name;      // "slurm-12", "local-4711": also the beginning of its files' names
  std::string cluster;   // "slurm"; "": a process of a machine
  std::string id;        // of the job, or of the process
  std::string study;     // its file
  std::string host;      // of a process
  std::string began;     // of a process: when, as the kernel counts, since numbers of processes are used again
  double submitted = 0;  // wall time
};

enum class JobState { Unknown, Pending, Running, Ended };

struct JobView {
  JobState state = JobState::Unknown;
  std::optional<int> code;  // that the run ended with, where it said so
  std::string note;         // what the cluster says: "Priority", "TIMEOUT", …
};

/// The folder of a results folder's jobs, absolute.
std::string jobsFolder(const std::string& results);

llvm::Error writeJob(const std::string& folder, const JobRecord& job);
/// Oldest first. What is no file of a job is left out, and `messages` names it: it must not hide the others.
std::vector<JobRecord> readJobs(const std::string& folder, std::vector<std::string>& messages);
llvm::Expected<JobRecord> parseJob(const std::string& text);
std::string writtenJob(const JobRecord& job);

/// This process, detached.
JobRecord ownProcess(std::string study);
/// Writes down what a run ended with.
void writeCode(const std::string& folder, const std::string& name, int code);

/// The state of each job, by name. Slurm is asked in one call for all jobs, at most once in ten seconds for each
/// folder.
llvm::Expected<std::map<std::string, JobView>> look(const std::string& folder, const std::vector<JobRecord>& jobs);
/// Asks it to end.
llvm::Error cancel(const std::string& folder, const JobRecord& job);

}  // namespace expc::cluster
