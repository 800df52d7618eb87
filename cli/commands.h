#pragma once

// The options of every subcommand, and the functions that carry them out. `command_line.cpp` fills one of these structs
// from the words of the command line and calls the function that belongs to it, so a command never sees CLI11 and can
// be called by another one (`bench` writes a study and calls `run`). Absent values: an empty text or nullopt stands for
// an option that was not given; the command decides what that means.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "compiler/expand/select.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/rehearse.h"

namespace expc::store {
class Store;
}

namespace expc::cli {

/// Options that select a study and change it; shared by check, plan, run and report. The base class holds --study,
/// --preset and -D.
struct StudyOptions : expand::Selection {
  /// A study (.exp), or a plan written by `expc plan --format json` where the command accepts one.
  std::string file;
  /// The machine that rules with `system` and estimates ask about: "local", "proxima", or one that the study declares.
  std::optional<std::string> system;
  /// How many blocks may run beside each other. The command line also adds it to the overrides as design.share=N, where
  /// it takes effect.
  std::optional<unsigned> jobs;
};

/// Options that select parts of this machine; shared by plan, run and report.
struct MachineOptions {
  /// Slots of this machine: "4", or "cpu:2" for groups of cores; "" takes every GPU, else up to four groups of cores.
  std::string devices;
  /// Simulated GPUs in place of real ones: "4", "4x94GiB" or "found"; "" uses the real ones.
  std::string null_gpus;
  /// Nodes that a run takes; absent: all nodes of the allocation that this process is in, else this machine alone.
  std::optional<unsigned> nodes;
  /// The shell line that starts an agent on a node; "" uses srun.
  std::string agents;

  /// Returns the store whose newest session says which machine "local" is, or null if that store cannot be read. A
  /// command that judges stored results sets it, so that rules hold as on the machine that measured; unset, "local" is
  /// this machine.
  std::function<const store::Store*()> measured = nullptr;
};

/// Options of every command that reads stored results: the study, the machine that it is planned for, and the folder of
/// its results.
struct MeasuredOptions {
  StudyOptions study;
  MachineOptions machine;
  std::string results = "results";
  Format format = Format::Text;
};

/// `expc check`
struct CheckOptions {
  StudyOptions study;
  Format format = Format::Text;
  bool fix = false;
  /// With `fix`: show the changes as a diff and write nothing.
  bool diff = false;
};

/// `expc plan`. At most one of `lock`, `diff` and `explain` is set, and none of them together with `where` or `page`.
struct PlanOptions : MeasuredOptions {
  /// Text: list every point, also of a plan that is otherwise shown as a summary.
  bool all_points = false;
  /// Only points that satisfy this condition.
  std::optional<std::string> where;
  /// Text: which page of the listed points, counted from 1.
  std::optional<unsigned> page;
  /// Exit with 1 if a run here could not start (text only).
  bool can_run = false;
  /// Write FILE.lock instead of a plan.
  bool lock = false;
  /// The lock to compare with; "": none.
  std::string diff;
  /// The point to explain, by the beginning of its id or by its levels: where its values come from, or which rule
  /// removed it.
  std::optional<std::string> explain;
};

/// `expc report`, and the part of `run` that reports. Formats text and json print the judgement; svg, png and pdf draw
/// one chart.
struct ReportOptions : MeasuredOptions {
  /// Where the report page is written; "": in the results folder.
  std::string html;
  /// Text: print everything, not only the answers that decide.
  bool all = false;
  /// Text: only the answer and a table of commands, as `bench` does.
  bool brief = false;
  /// Pictures: which chart, by the name or number that the page shows; "" is enough if there is only one.
  std::string chart;
  /// Pictures: the file to write; "": CHART.FORMAT in the current folder.
  std::string to;
  /// Instead of the report: where the time of a change of level goes, such as "precision: fp64 -> fp16"; "": the
  /// report.
  std::string explain;
};

/// `expc export`
struct ExportOptions : MeasuredOptions {
  /// CSV and Parquet: write the table of series instead of the table of measurements.
  bool series = false;
  /// CSV: put an apostrophe before texts that a spreadsheet would compute as formulas.
  bool no_formulas = false;
  /// Markdown: the most bytes; 0: no limit; absent: what GitHub accepts.
  std::optional<size_t> max_size;
  /// The file to write; "-": standard output.
  std::string to = "-";
};

/// `expc compare`. `results` of the base class is ignored: the plan is made for the machine of the last side.
struct CompareOptions : MeasuredOptions {
  /// DIR or DIR,NAME=VALUE,…: a results folder, and which part of it counts as this side.
  std::vector<std::string> sides;
  /// Say which conclusions of the first side hold on the others.
  bool claims = false;
  /// Show how metrics developed over the sessions of all sides.
  bool by_session = false;
  /// Metric to show by session; "": every metric.
  std::string metric;
  /// Show by session also metrics and points that never changed.
  bool all = false;
  /// Per cent by which a metric may get worse before that counts: 2 is 2 %.
  double margin = 0;
};

/// `expc run`. In `engine`, an empty `worker` means the one beside this program; the results folder and all that
/// describes the machine come from the base class and are filled in by `run`.
struct RunOptions : ReportOptions {
  engine::EngineOptions
      engine;  // with `worker` "": beside this program; `results` and what is of the machine are above
  /// Start only trials of points that satisfy this condition.
  std::optional<std::string> where;
  /// Run only the blocks from which noise can be measured, then print a diagnosis of the design instead of verdicts.
  bool pilot = false;
  /// Exit with 0 if every criterion has a verdict, whatever it is.
  bool verdicts_ok = false;
  /// Write to standard error only what needs attention.
  bool quiet = false;
  /// The cluster to submit to: "slurm"; "": run here.
  std::string on;
  /// The file that states what the cluster wants to be told (runtime/cluster/slurm.h); "": none.
  std::string site;
  /// The port of 127.0.0.1 at which the run is shown, or "free" for any; "": not shown.
  std::string serve;
  /// With `on`: print the script that would be submitted.
  bool dry_run = false;
  /// Leave the run to itself in the background.
  bool detach = false;
  /// All words behind the program's name as they were typed: a job on a cluster repeats them.
  std::vector<std::string> words;
};

/// `expc bench`: a study of commands, written from the command line and run.
struct BenchOptions : RunOptions {
  /// The commands as they are typed for a shell; the first is the one that is claimed to be faster.
  std::vector<std::string> commands;
  /// "n=1,2,4": the values that replace {n} in commands.
  std::vector<std::string> parameters;
  /// Commands that run once before the first start, and untimed before each start; "": none.
  std::string prepare, before;
  /// Starts before each counted one that do not count, and repetitions; 0 runs: 10, or up to 20 while undecided.
  unsigned warmup = 0, runs = 0;
  /// Run commands in this folder instead of a folder of their own.
  bool here = false;
};

/// `expc status`, `attach` and `cancel`
struct JobOptions {
  std::string results = "results";
  /// The job's name; "": every job for status and cancel, the newest for attach.
  std::string job;
};

/// `expc rehearse`. Of the machine only `null_gpus` counts, and only if no system is named.
struct RehearseOptions : MeasuredOptions {
  /// Rehearse only points that satisfy this condition.
  std::optional<std::string> where;
  engine::RehearsalOptions engine;
  /// Write to standard error only what needs attention.
  bool quiet = false;
};

/// `expc null`
struct NullOptions {
  /// "4" or "4x80GiB".
  std::string cards;
  /// Faults on demand, as NULLGPU_FAULTS takes them; "": those of the environment.
  std::string faults;
  /// The words behind `--`.
  std::vector<std::string> command;
  Format format = Format::Text;
};

/// `expc diagnose`: what is assumed of simulated studies, as texts of the command line.
struct DiagnoseOptions : MeasuredOptions {
  /// "2%" or "METRIC=2%", the variation of one trial; "CRITERION=1.3x", the true effect in each cell of a criterion.
  std::vector<std::string> noise, effects;
  /// The share of starts that fail, such as "2%"; "": as in stored trials.
  std::string lost;
  /// Sessions that a study is measured in; absent: as many as are stored, else 1.
  std::optional<unsigned> sessions;
  /// How many studies are simulated, and the seed of their random numbers.
  unsigned studies = 1000;
  uint64_t seed = 1;
};

/// `expc fmt`
struct FmtOptions {
  /// Files and folders, or "-" alone for standard input.
  std::vector<std::string> paths;
  bool check = false;
  bool diff = false;
};

/// `expc data prepare`
struct PrepareOptions {
  /// The only one so far: "reference", the data of the reference study.
  std::string what;
  std::string from = ".";
  std::string to = "data";
};

/// `expc data inspect`. `study.file` is a study, or the path of a set; the fields after it say how a file of rows is
/// read.
struct InspectOptions {
  StudyOptions study;
  /// The template's name; "": told by the columns.
  std::string shape;
  std::string tokenizer, validation;
  int64_t max_length = 0;  // 0: not cut
  bool pairs = false;
  Format format = Format::Text;
};

/// `expc bundle`. `study.file` is a study to pack, or a bundle to verify and unpack.
struct BundleOptions : MeasuredOptions {
  /// Packing: the archive, "" for STUDY.bundle.tar.zst. Verifying: the folder to unpack into, "" to verify only.
  std::string to;
  std::vector<std::string> authors;
  bool anonymous = false;
};

/// The functions below return the exit code of the process or the error that ends it. They print results on `console`.
Exit check(const CheckOptions& options, const Console& console);
Exit plan(const PlanOptions& options, const Console& console);
Exit run(const RunOptions& options, const Console& console);
Exit bench(const BenchOptions& options, const Console& console);
/// Submits the run to a cluster and follows its log until it ends, unless it is detached. With `dry_run` it only prints
/// the script.
Exit submitRun(const RunOptions& options, const Console& console);
/// Forks a process that outlives the terminal and calls `run` there; its output goes to a log in the folder of jobs.
/// Returns once the process has recorded itself, so that `status` finds it at once.
Exit detachRun(const RunOptions& options, const Console& console, Exit (*run)(const RunOptions&, const Console&));
Exit attach(const JobOptions& options, const Console& console);
Exit status(const JobOptions& options, const Console& console);
Exit cancel(const JobOptions& options, const Console& console);
Exit diagnose(const DiagnoseOptions& options, const Console& console);
/// Runs a command on simulated GPUs. The exit code is its own, 128 and its signal, or 125 to 127 if it did not run.
Exit null(const NullOptions& options, const Console& console);
Exit rehearse(const RehearseOptions& options, const Console& console);
Exit report(const ReportOptions& options, const Console& console);
Exit exportResults(const ExportOptions& options, const Console& console);
Exit compare(const CompareOptions& options, const Console& console);
Exit doctor(const MeasuredOptions& options, const Console& console);
Exit format(const FmtOptions& options, const Console& console);
Exit inspectData(const InspectOptions& options, const Console& console);
Exit prepareData(const PrepareOptions& options, const Console& console);
Exit extract(const MeasuredOptions& options, const Console& console);
Exit bundle(const BundleOptions& options, const Console& console);

}  // namespace expc::cli
