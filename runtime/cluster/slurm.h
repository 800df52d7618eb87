#pragma once

// The commands of Slurm, and what they print.

#include <llvm/Support/Error.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace expc::cluster {

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
