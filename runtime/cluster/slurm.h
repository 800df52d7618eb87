#pragma once

// Slurm: what a site wants it to be told of a job, in a file that its users share (lines of `name = value`); the script
// of a job, in whose allocation the engine itself runs, on its first node; and Slurm's commands, with what they print.

#include <llvm/Support/Error.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace expc::cluster {

struct Site {
  /// What is asked for: options of sbatch with their values, in the order of the file.
  std::vector<std::pair<std::string, std::string>> asked;
  std::vector<std::string> options;   // further options of sbatch, as they are
  std::vector<std::string> modules;   // to load
  std::vector<std::string> setup;     // shell lines, run once in each allocation before the run
  std::string scratch;                // folder of each node for copies of data, as the job's shell reads it; "": none
  std::vector<std::string> exported;  // variables of the submitting shell that the job gets
  std::vector<std::string> secrets;   // the same of variables whose values are never written
};

/// The error names the line. `name` is what the text is called in it.
llvm::Expected<Site> parseSite(std::string_view text, std::string_view name);

llvm::Expected<Site> readSite(const std::string& path);

/// What a job runs.
struct Job {
  std::string name;
  std::vector<std::string> command;  // expc with its arguments
  std::string folder;                // where it runs, absolute
  std::string jobs;                  // the folder of jobs (jobs.h), absolute
};

/// As sbatch takes it. A function of its arguments: what a dry run prints is what is submitted.
std::string renderScript(const Site& site, const Job& job);

// ---- its commands

/// What a program printed; an error with what it complained of where it did not end with 0.
llvm::Expected<std::string> output(const std::vector<std::string>& command);

/// Hands a script to sbatch; the number of the job.
llvm::Expected<std::string> submit(const std::string& script_path);

/// Seconds left of the allocation that this process is in; nothing where it is in none, or in one without an end. An
/// error where Slurm does not say.
llvm::Expected<std::optional<double>> secondsLeft();

/// The allocation that this process is in.
struct Allocation {
  std::string job;
  std::vector<std::string> nodes;
  bool is_here = true;  // this machine is one of them; not so in a shell of salloc on a login node
};

/// Nothing where it is in none. An error where Slurm does not say which nodes these are.
llvm::Expected<std::optional<Allocation>> allocation();

/// The line of sh by which Slurm starts $EXPC_AGENT on a node of the allocation: a job step with its standard streams.
std::string agentLine(std::string_view node);

/// "1-02:03:04", "02:03:04", "03:04" in seconds; nothing for anything else.
std::optional<double> parseTimeLeft(std::string_view text);

/// Lines "12|PENDING|Priority" by number of the job: its state and the reason. Others are passed over.
std::map<std::string, std::pair<std::string, std::string>> parseStates(std::string_view text);

}  // namespace expc::cluster
