#pragma once

// What a cluster wants to be told of a job, in a file that its users share: lines of `name = value`. And the script of
// a job: the engine itself runs in the allocation, on its first node.

#include <llvm/Support/Error.h>

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

/// A word as a shell reads it back.
std::string quoted(const std::string& word);

}  // namespace expc::cluster
