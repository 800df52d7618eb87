#pragma once

// Slurm: the site file, in which users share what their cluster wants to be told of a job (lines `name = value`); the
// script of a job; and Slurm's commands, with parsers for what they print. The engine runs inside the job's allocation,
// on its first node, and starts agents on the others by srun.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::cluster {

/// A site file.
struct Site {
  /// Resources to ask for: options of sbatch with their values, in the order of the file.
  std::vector<std::pair<std::string, std::string>> asked;
  std::vector<std::string> options;   // further options of sbatch, passed as they are
  std::vector<std::string> modules;   // environment modules to load
  std::vector<std::string> setup;     // shell lines, run once in each allocation before the run
  std::string scratch;                // folder on each node for copies of data, expanded by the job's shell; "": none
  std::vector<std::string> exported;  // variables of the submitting shell that the job gets
  std::vector<std::string> secrets;   // like `exported`, but their values are never written to a file
};

/// Parses the text of a site file, which errors call `name`. Error: an unknown setting or a bad value; it names the
/// line.
Expected<Site> parseSite(std::string_view text, std::string_view name);

/// Reads and parses a site file.
Expected<Site> readSite(const std::string& path);

/// The run that a job is for.
struct Job {
  std::string name;
  std::vector<std::string> command;  // expc and its arguments
  std::string folder;                // working directory, absolute
  std::string jobs;                  // the folder for jobs (jobs.h), absolute
};

/// The job script for sbatch. It is a function of its arguments, so a dry run prints exactly what would be submitted.
std::string renderScript(const Site& site, const Job& job);

// ---- its commands

/// Runs a command and returns what it printed. Error: it is not in PATH, ended with a code other than 0 (with its own
/// message), or did not end within a minute.
Expected<std::string> output(const std::vector<std::string>& command);

/// Submits a script with sbatch and returns the number of the job.
Expected<std::string> submit(const std::string& script_path);

/// Seconds left of the allocation that this process is in; absent if it is in none, or in one without an end. Error:
/// Slurm does not say.
Expected<std::optional<double>> secondsLeft();

/// The allocation that this process is in.
struct Allocation {
  std::string job;
  std::vector<std::string> nodes;
  bool is_here = true;  // this machine is one of the nodes; false in a shell of salloc on a login node
};

/// The allocation of this process; absent if it is in none. Error: Slurm does not say which nodes it has.
Expected<std::optional<Allocation>> allocation();

/// The line for sh that starts $EXPC_AGENT on a node of the allocation: a job step that passes standard streams on.
std::string agentLine(std::string_view node);

/// Parses squeue's time left, "1-02:03:04", "02:03:04" or "03:04", into seconds; absent for anything else.
std::optional<double> parseTimeLeft(std::string_view text);

/// Parses lines "12|PENDING|Priority" into job -> (state, reason). Other lines are skipped; of several about one job
/// the last counts.
std::map<std::string, std::pair<std::string, std::string>> parseStates(std::string_view text);

}  // namespace expc::cluster
