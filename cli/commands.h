#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "compiler/select/select.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/rehearse.h"

namespace expc::store {
class Store;
}

namespace expc::cli {

/// Options that select a study and change it; shared by check, plan, run and report.
struct StudyOptions : select::Selection {
  std::string file;                   // .exp, or a plan written by `expc plan --format json` where that is accepted
  std::optional<std::string> system;  // "local", "proxima": what rules with `system` ask about
  std::optional<unsigned> jobs;       // design.share, said in a word
};

/// Options that select parts of this machine; shared by plan, run and report.
struct MachineOptions {
  std::string devices;            // "", "4", "cpu:2"
  std::string null_gpus;          // "", "4", "4x94GiB", "found"
  std::optional<unsigned> nodes;  // that a run takes; absent: as many as an allocation has, else this machine
  std::string agents;             // the line of sh that starts an agent on one of them; "": srun

  /// Opens the store of whose machine "local" is to be; null where it cannot be read. Without it: this machine.
  std::function<const store::Store*()> measured = nullptr;
};

/// Options of every reader of stored results: the study, as its machine could run it, and where its results lie.
struct MeasuredOptions {
  StudyOptions study;
  MachineOptions machine;
  std::string results = "results";
  Format format = Format::Text;
};

struct CheckOptions {
  StudyOptions study;
  Format format = Format::Text;
  bool fix = false;
  bool diff = false;  // with fix: show, do not write
};

struct PlanOptions : MeasuredOptions {
  bool all_points = false;             // text: also where there are many
  std::optional<std::string> where;    // only points that satisfy this condition
  std::optional<unsigned> page;        // of those, in text
  bool lock = false;                   // write FILE.lock
  std::string diff;                    // compare with this lock
  std::optional<std::string> explain;  // say why this point is there, or is not
};

struct ReportOptions : MeasuredOptions {  // the format is of the judgement; svg, png and pdf are of one chart
  std::string html;                       // "": in the results folder
  bool all = false;                       // text: everything that there is to say, not only what decides
  std::string chart;                      // of a picture: a name or number as the page has them; "": the only one
  std::string to;                         // of a picture: the file to write; "": CHART.FORMAT in this folder
  std::string explain;  // "precision: fp64 -> fp16": what makes that difference, instead of the report; "": the report
};

struct ExportOptions : MeasuredOptions {
  bool series = false;       // of csv and parquet: the table of series instead of that of measurements
  bool no_formulas = false;  // of csv: an apostrophe before texts that a spreadsheet would compute
  std::string to = "-";      // the file to write; "-": standard output
};

struct CompareOptions : MeasuredOptions {  // the results are those of the last side
  std::vector<std::string> sides;          // DIR[,NAME=VALUE...]: a results folder, and which part of it
  bool claims = false;                     // what became of the first side's conclusions on the others
  bool by_session = false;                 // how metrics went over the sessions of all sides
  std::string metric;                      // by session: only this one; "": every one
  bool all = false;                        // by session: also what never changed
  double margin = 0;                       // how much worse a metric may get: 0.02 is 2 %
};

struct RunOptions : ReportOptions {
  engine::EngineOptions
      engine;  // with `worker` "": beside this program; `results` and what is of the machine are above
  std::optional<std::string> where;  // only trials of points that satisfy this condition are started
  bool pilot = false;                // only what noise can be measured with, and then a diagnosis
  bool verdicts_ok = false;
  bool quiet = false;              // on standard error only what needs attention
  std::string on;                  // "slurm"; "": here
  std::string site;                // file of what the cluster wants to be told (cluster/slurm.h); "": nothing
  std::string serve;               // port of 127.0.0.1 at which the run is shown, or "free" for any; "": it is not
  bool dry_run = false;            // print what would be submitted
  bool detach = false;             // leave it to itself
  std::vector<std::string> words;  // of the command line behind the program's name
};

struct BenchOptions : RunOptions {
  std::vector<std::string> commands;    // as they are typed for a shell
  std::vector<std::string> parameters;  // "n=1,2,4": what stands for {n} in commands
  std::string prepare, before;          // commands too; "": none
  unsigned warmup = 0, runs = 0;        // starts that do not count before each one; repetitions, 0: as many as it takes
  bool here = false;                    // run in this folder instead of one of its own
};

struct JobOptions {
  std::string results = "results";
  std::string job;  // its name; "": the newest, of cancel all
};

struct RehearseOptions : MeasuredOptions {  // of the machine only null_gpus, where no system is named
  std::optional<std::string> where;         // only points that satisfy this condition
  engine::RehearsalOptions engine;          // as RunOptions has it
  bool quiet = false;                       // as RunOptions has it
};

struct DiagnoseOptions : MeasuredOptions {
  std::vector<std::string> noise, effects;  // "2%" or "METRIC=2%"; "CRITERION=1.3x"
  std::string lost;                         // "2%"; "": as stored
  std::optional<unsigned> sessions;         // absent: as many as are stored
  unsigned studies = 1000;
  uint64_t seed = 1;
};

struct FmtOptions {
  std::vector<std::string> paths;  // files and folders, or "-" alone
  bool check = false;
  bool diff = false;
};

struct PrepareOptions {
  std::string what;  // "reference"
  std::string from = ".";
  std::string to = "data";
};

struct BundleOptions : MeasuredOptions {  // of a study's file, or of a bundle
  std::string to;  // "": STUDY.bundle.tar.zst; of a bundle the folder to take it out into, or "" to look only
  std::vector<std::string> authors;
  bool anonymous = false;
};

/// Each returns the process's exit code.
int check(const CheckOptions& options, const Console& console);
int plan(const PlanOptions& options, const Console& console);
int run(const RunOptions& options, const Console& console);
int bench(const BenchOptions& options, const Console& console);
/// Hands the run to a cluster, or prints the script that would be handed over; follows it unless it is detached.
int submitRun(const RunOptions& options, const Console& console);
/// Runs it in a process that outlives the terminal, with its output in the folder of jobs.
int detachRun(const RunOptions& options, const Console& console, int (*run)(const RunOptions&, const Console&));
int attach(const JobOptions& options, const Console& console);
int status(const JobOptions& options, const Console& console);
int cancel(const JobOptions& options, const Console& console);
int diagnose(const DiagnoseOptions& options, const Console& console);
int rehearse(const RehearseOptions& options, const Console& console);
int report(const ReportOptions& options, const Console& console);
int exportResults(const ExportOptions& options, const Console& console);
int compare(const CompareOptions& options, const Console& console);
int doctor(const MeasuredOptions& options, const Console& console);
int format(const FmtOptions& options, const Console& console);
int prepareData(const PrepareOptions& options, const Console& console);
int extract(const MeasuredOptions& options, const Console& console);
int bundle(const BundleOptions& options, const Console& console);

}  // namespace expc::cli
