#pragma once

// The script of a job: the engine itself runs in the allocation, on its first node.

#include <string>
#include <vector>

#include "runtime/cluster/site.h"

namespace expc::cluster {

/// What a job runs.
struct Job {
  std::string name;
  std::vector<std::string> command;  // expc with its arguments
  std::string folder;                // where it runs, absolute
  std::string jobs;                  // the folder of jobs (jobs.h), absolute
};

/// As sbatch takes it. A function of its arguments: what a dry run prints is what is submitted.
std::string renderScript(const Site& site, const Job& job);

/// A word as a shell reads it back.
std::string quoted(const std::string& word);

}  // namespace expc::cluster
