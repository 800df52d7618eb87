// The `expc` command line: declares every subcommand with its options, parses the words, and makes the one call that
// they ask for. Options that several commands share have one function here, so that name, help and checks are the same
// everywhere. Names, help and exit codes are documented in docs/command-line.md, which tests compare with this file.
// Two internal words bypass the parser's help: `complete-words` for shells, and `agent`, which the engine starts on
// nodes.

#include "cli/command_line.h"

#include <fcntl.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/Regex.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/subcommand.h"
#include "cli/version.h"
#include "compiler/diag/diagnostic.h"
#include "runtime/base/format.h"
#include "runtime/base/process.h"
#include "runtime/base/text.h"
#include "runtime/engine/nodes/agent.h"

namespace expc::cli {

void addStudyOptions(CLI::App& command, StudyOptions& options, const char* file_help) {
  addOption(command, "file", "FILE", options.file, file_help)->required();
  addOption(command, "--study", "NAME", options.study, "Study to use, if the file has several (default: all)");
  addOption(command, "--preset", "NAME", options.presets, "Apply a preset; repeatable, applied in order");
  addOption(command, "-D", "NAME=VALUE", options.overrides,
            "Override a factor's levels, an argument or a design setting: -D gpus=2, -D design.timed.repeat=20");
}

namespace {

/// Adds `--jobs`, which is short for an override of the design; the override is added once parsing is complete, behind
/// those of -D.
void addJobs(CLI::App& command, StudyOptions& options) {
  addOption(command, "--jobs", "N", options.jobs,
            "Run up to N blocks in parallel, each on its own devices (same as -D design.share=N)")
      ->check(CLI::Range(1, 1024));
  command.parse_complete_callback([&options] {
    if (options.jobs) options.overrides.push_back("design.share=" + std::to_string(*options.jobs));
  });
}

/// Adds `--system`; `otherwise` says in the help which machine is asked without it.
void addSystem(CLI::App& command, StudyOptions& options, const char* otherwise) {
  addOption(command, "--system", "NAME", options.system,
            std::string("Target machine: local, or a system declared by the study, its imports or std.systems "
                        "(proxima, …); default: ") +
                otherwise);
}

/// Adds `--where`, as a text: conditions are parsed with the study.
void addWhere(CLI::App& command, std::optional<std::string>& where) {
  addOption(command, "--where", "CONDITION", where,
            "Only points that satisfy a condition over factors and parameters: --where 'gpus > 1'");
}

/// Makes an option take a number of bytes with its unit, "16GiB" or "16GB"; a bare number would be bytes, which hardly
/// anybody means.
CLI::Option* asSize(CLI::Option* option) {
  const auto has_unit = [](std::string& text) {
    static const llvm::Regex kSize("^[0-9.]+(e[0-9]+)? *([kmgtpe]i?)?b?$", llvm::Regex::IgnoreCase);
    if (!text.empty() && std::isdigit(static_cast<unsigned char>(text.back())))
      return fmt::format("{}: a size needs a unit, as in 16GiB", text);
    return kSize.match(text)
               ? std::string()
               : fmt::format("'{}' is not a size: write it as 16GiB or 16GB (units: B, kB, KiB to EB, EiB)", text);
  };
  return option->transform(CLI::AsSizeValue(/*kb_is_1000=*/true))
      ->transform(CLI::Validator(has_unit, ""));  // CLI11 runs the last one first
}

/// Makes an option of seconds take a unit as the language does: "30s", "5min".
CLI::Option* asSeconds(CLI::Option* option) {
  const auto seconds = [](std::string& text) {
    for (const auto& [unit, size] : {std::pair("ms", 0.001), {"min", 60.0}, {"h", 3600.0}, {"s", 1.0}}) {
      StringRef number = text;
      double value;
      if (!number.consume_back(unit) || number.rtrim().getAsDouble(value) || !(value >= 0)) continue;
      text = fmt::format("{}", value * size);
      return std::string();
    }
    // CLI11 would name its whole range of numbers.
    double value;
    return StringRef(text).getAsDouble(value) || !(value >= 0)
               ? fmt::format("'{}' is not a time: write it as 30s (units: ms, s, min, h)", text)
               : std::string();
  };
  return option->transform(CLI::Validator(seconds, ""));
}

/// Adds the options that select devices of this machine, or simulated GPUs in their place.
void addMachine(CLI::App& command, MachineOptions& options) {
  addOption(command, "--devices", "N|cpu:N", options.devices,
            "Devices to use: N GPUs, or cpu:N groups of CPU cores (default: all GPUs; without GPUs up to 4 groups)");
  addOption(command, "--null-gpus", "N[xMEMORY]|found", options.null_gpus,
            "Use simulated GPUs: N, NxMEMORY (4x94GB), or found. Results are marked and give no verdict")
      // The variable lets a whole session be rehearsed without repeating the option.
      ->envname("EXPC_NULL_GPUS");
}

/// Adds `--nodes`; `what` says in the help what the command does with it.
void addNodes(CLI::App& command, MachineOptions& options, const std::string& what) {
  addOption(command, "--nodes", "N", options.nodes, fmt::format("{} (default: all nodes of this allocation)", what))
      ->check(CLI::Range(1, 4096));
}

/// Adds `--results`. An empty text is refused: it comes from an unset variable in a script and would mean the current
/// folder.
void addResults(CLI::App& command, std::string& results) {
  addOption(command, "--results", "DIR", results, "Results folder")
      ->check([](const std::string& folder) { return folder.empty() ? "its name is empty" : std::string(); })
      ->capture_default_str();
}

/// Help for the file of commands that accept both.
constexpr const char* kStudyOrPlan = "Study file (.exp) or a plan (expc plan --format json)";

/// Adds the options of every command that reads stored results.
void addMeasured(CLI::App& command, MeasuredOptions& options, bool jobs, const char* file_help = kStudyOrPlan) {
  addStudyOptions(command, options.study, file_help);
  if (jobs) addJobs(command, options.study);
  addMachine(command, options.machine);
  addResults(command, options.results);
}

/// Adds the options that `run` and `report` have in common.
void addReporting(CLI::App& command, ReportOptions& options) {
  addMeasured(command, options, true);
  addOption(command, "--html", "FILE", options.html, "Where to write the report page (default: in the results folder)");
}

/// `expc report`
void addReport(const Commands& to) {
  auto [command, options] = to.add("report", "Print verdicts and a report of stored results", report);
  addReporting(command, options);
  using enum Format;
  addFormat(command, options.format, {Text, Json, Svg, Png, Pdf},
            "How to print (default text), or one chart of the page as a picture");
  command.add_flag("--all", options.all,
                   "Print all details: evidence for each verdict, comparisons, descriptions, notes");
  addOption(command, "--chart", "NAME|N", options.chart,
            "Chart to draw: its name or its number on the page (default: the only one)");
  addOption(command, "-o,--to", "FILE", options.to,
            "Picture file to write (default: the chart's name, in this folder)");
  addOption(command, "--explain", "CHANGE", options.explain,
            "Show where the time difference between two levels comes from (needs profile trials; docs/profiling.md)");
}

/// `expc bundle`
void addBundle(const Commands& to) {
  auto [command, options] = to.add("bundle", "Pack a study and its evidence into one archive; verify or unpack one",
                                   bundle, "Exit codes: 0 success, 1 error, or verification failed, 2 usage.");
  addMeasured(command, options, false, "Study file (.exp), or a bundle (.bundle.tar.zst)");
  addOption(command, "--to", "PATH", options.to,
            "Archive to write (default STUDY.bundle.tar.zst); for a bundle, the folder to unpack it into");
  command.add_flag("--anonymous", options.anonymous,
                   "Leave out hosts, users, home folders and GPU ids, for anonymous review");
  addOption(command, "--author", "NAME", options.authors, "Author to cite; repeatable");
}

/// `expc check`
void addCheck(const Commands& to) {
  auto [command, options] = to.add("check", "Check a study for mistakes; measures nothing", check, kPlainExitCodes);
  addStudyOptions(command, options.study, "Study file (.exp)");
  addSystem(command, options.study, "none, nothing is checked against a machine");
  addFormat(command, options.format, {Format::Text, Format::Json, Format::Sarif},
            "How to print diagnostics (default text); sarif is SARIF 2.1.0, for editors and code review");
  CLI::Option* fix = command.add_flag("--fix", options.fix, "Apply safe fixes, then report what remains");
  command.add_flag("--diff", options.diff, "With --fix: show the changes and write nothing")->needs(fix);
}

/// `expc plan`
void addPlan(const Commands& to) {
  auto [command, options] =
      to.add("plan", "Show what a run would measure, how long, and what it can detect", plan, kPlainExitCodes);
  addStudyOptions(command, options.study, "Study file (.exp)");
  addJobs(command, options.study);
  addFormat(command, options.format, {Format::Text, Format::Json, Format::JsonLines},
            "How to print (default text); json is what `expc run` accepts, jsonl has a line for each point");
  command.add_flag("--all", options.all_points, "Also print every point, the comparisons and the full claims");
  addWhere(command, options.where);
  addOption(command, "--page", "N", options.page, "Page of the list of points to print, 50 points per page")
      ->check([](const std::string& page) {
        return page.find_first_not_of("0") == std::string::npos ? "pages are numbered from 1" : std::string();
      });
  command.add_flag("--can-run", options.can_run, "Exit with 1 if a run here could not start");
  command.add_flag("--lock", options.lock,
                   "Write FILE.lock; from then on expc run refuses a study that differs from it");
  addOption(command, "--diff", "LOCK", options.diff, "Show changes since a lock was written");
  addOption(
      command, "--explain", "POINT", options.explain,
      "Explain one point: where its values come from, or which rule removed it (an id, or 'precision=fp32 gpus=2')");
  // A lock is of the whole file and an explanation is of one point, so these exclude each other and whatever selects
  // points.
  for (const char* mode : {"--lock", "--diff", "--explain", "--can-run"})
    for (const char* other : {"--lock", "--diff", "--explain", "--where", "--page"})
      if (std::string_view(mode) != other) command.get_option(mode)->excludes(command.get_option(other));
  addSystem(command, options.study, "local");
  addMachine(command, options.machine);
  addNodes(command, options.machine, "Plan for this number of nodes like this one");
  addResults(command, options.results);
}

/// Adds the commands on detached and submitted runs.
void addJobs(const Commands& to) {
  for (const auto& [name, help, run, codes] :
       {std::tuple{"status", "Show the state of detached and submitted runs", &status, kPlainExitCodes},
        {"attach", "Follow a detached or submitted run; exit with its code", &attach, nullptr},
        {"cancel", "Stop a detached or submitted run (its results are kept)", &cancel, kPlainExitCodes}}) {
    auto [command, options] = to.add(name, help, run, codes);
    addResults(command, options.results);
    addOption(command, "job", "JOB", options.job, "Job name from expc status (default: newest; for cancel: all)");
  }
}

/// Adds the options of `run` that say where it runs: a cluster, several nodes, the background.
void addPlaces(CLI::App& command, RunOptions& options) {
  CLI::Option* on = addOption(command, "--on", "CLUSTER", options.on, "Submit the run to a cluster: slurm")
                        ->check(CLI::IsMember({"slurm"}));
  addOption(command, "--site", "FILE", options.site,
            "File with the cluster's settings: partition, account, time, set-up")
      ->needs(on);
  addNodes(command, options.machine, "Number of nodes to use at once");
  addOption(command, "--agents-by", "LINE", options.machine.agents,
            "Shell command that starts $EXPC_AGENT on node $EXPC_NODE, for schedulers other than Slurm (default: srun)")
      ->needs("--nodes");
  command.add_flag("--dry-run", options.dry_run, "With --on: print the script and submit nothing")->needs(on);
  command.add_flag("--detach", options.detach, "Run in the background; see expc status, attach, cancel");
}

/// Adds `--quiet` for commands that print progress.
void addQuiet(CLI::App& command, bool& quiet) {
  command.add_flag("--quiet", quiet, "Print only problems, not every block and trial");
}

/// Adds the options that replace the worker and its torch; `otherwise` names the default programs in the help.
void addWorker(CLI::App& command, std::string& worker, const char* otherwise) {
  addOption(command, "--worker", "PATH", worker, std::string("Worker program (default: next to expc, ") + otherwise);
  command
      .add_option_function<std::string>(
          "--torch",
          // Workers inherit the environment, so the engine needs no field for it.
          [](const std::string& folder) { setenv("EXPC_TORCH", std::filesystem::absolute(folder).c_str(), 1); },
          "Folder of torch, with lib/libtorch_cpu.so (default: next to an installed expc, or the build's)")
      ->type_name("PATH");
}

/// Adds the options that `run` and `bench` have in common.
void addMeasuring(CLI::App& command, RunOptions& options) {
  addQuiet(command, options.quiet);
  addWorker(command, options.engine.worker, "expc-worker, or expc-worker-cuda for GPUs)");
  asSeconds(addOption(command, "--timeout", "SECONDS", options.engine.timeout, "Time limit of a trial: 30, 30s, 5min"))
      ->check(CLI::PositiveNumber);
  asSeconds(addOption(command, "--heat-up", "SECONDS", options.engine.heat_up_seconds,
                      "Warm up the devices for this time before a session"))
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

/// Groups the options in the help of `run`. tests/cli checks that no option is left out, since CLI11 would then show it
/// in a group of its own. A name that is no option is thrown (CLI::OptionNotFound), so no group names one.
void group(CLI::App& command) {
  const std::pair<const char*, std::vector<const char*>> groups[] = {
      {"The study", {"--study", "--preset", "-D", "--jobs", "--where"}},
      {"The machine", {"--devices", "--null-gpus", "--worker", "--torch", "--scratch", "--pass-env", "--heat-up"}},
      {"What is measured",
       {"--fresh", "--retry-failed", "--try-infeasible", "--pilot", "--fail-fast", "--give-up-after"}},
      {"Limits of a trial", {"--timeout", "--memory-limit", "--log-limit"}},
      {"What is kept and shown",
       {"--results", "--html", "--keep-trials", "--trace", "--format", "--quiet", "--serve", "--verdicts-ok"}},
      {"Clusters and background", {"--on", "--site", "--dry-run", "--nodes", "--agents-by", "--detach"}}};
  for (const auto& [title, names] : groups)
    for (const char* name : names) command.get_option(name)->group(title);
}

/// `expc run`. `words` are those of the whole command line, for a job that repeats them.
void addRun(const Commands& to, std::vector<std::string> words) {
  auto [command, options] = to.add("run", "Measure what is missing, then print verdicts and a report", run);
  addReporting(command, options);
  addFormat(command, options.format);
  options.words = std::move(words);
  addPlaces(command, options);
  addMeasuring(command, options);
  addWhere(command, options.where);
  command.add_flag("--fail-fast", options.engine.fail_fast, "Stop at the first trial that fails in every attempt");
  addOption(command, "--give-up-after", "N", options.engine.give_up_after,
            "Skip a point for this run after N failures in a row (default 4)")
      ->check(CLI::PositiveNumber);
  command.add_flag("--retry-failed", options.engine.retry_failed,
                   "Retry points that expc had given up on (failed or out of memory)");
  command.add_flag("--fresh", options.engine.fresh,
                   "Measure everything again in new blocks; earlier trials are kept, and verdicts use all of them");
  command.add_flag("--keep-trials", options.engine.keep_trial_folders,
                   "Keep the folder of every trial of a command, not only of failed ones");
  addOption(command, "--trace", "DIR", options.engine.traces,
            "Also trace a few steps of one profile trial of each point into this folder, for Perfetto");
  addOption(command, "--pass-env", "NAME", options.engine.pass_env,
            "Pass this environment variable to commands; repeatable")
      ->expected(1)
      // CLI11 would let a vector option swallow the words behind it; this takes one each time.
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_flag("--try-infeasible", options.engine.try_infeasible, "Also run points estimated not to fit in memory");
  asSize(addOption(command, "--memory-limit", "SIZE", options.engine.memory_limit,
                   "Host memory limit of a trial, such as 16GiB, shared equally by its ranks"));
  addOption(command, "--scratch", "DIR", options.engine.scratch,
            "Copy data to this folder on each node before the first trial; trials read it there");
  asSize(addOption(command, "--log-limit", "SIZE", options.engine.log_limit,
                   "Maximum output of a rank or command; more ends the trial (default 1GiB)"))
      ->check([](const std::string& bytes) { return bytes == "0" ? "a limit is above 0" : std::string(); });
  command.add_flag("--pilot", options.pilot,
                   "Run the few blocks needed to measure noise, then show what the design can detect");
  command.add_flag("--verdicts-ok", options.verdicts_ok,
                   "Exit with 0 even if a criterion fails or is undecided (not if one is broken)");
  command
      .add_flag("--serve{free}", options.serve,
                "Show the running study in a browser on this host: --serve takes a free port, --serve=8080 that one")
      ->type_name("[=PORT]")
      ->check(CLI::Range(1, 65535) | CLI::IsMember({"free"}))
      ->excludes("--on");
  group(command);
}

/// `expc bench`. It takes few options of `run`: a study with more wishes is changed in its file and run with `run`.
void addBench(const Commands& to) {
  auto [command, options] = to.add("bench", "Compare the speed of commands (writes a study and runs it)", bench);
  addOption(command, "commands", "COMMAND", options.commands,
            "Commands as for a shell, each quoted: 'gzip -6 f' 'zstd -3 f'")
      ->required();
  addOption(command, "-P", "NAME=VALUE,...", options.parameters,
            "Try each value in place of {NAME} in the commands; repeatable");
  addOption(command, "-w,--warmup", "N", options.warmup, "Unmeasured warm-up starts before each measured one");
  addOption(command, "-r,--runs", "N", options.runs,
            "Runs of each command (default: 10; up to 20 if still undecided after 10)")
      ->check(CLI::Range(1, 10000));
  addOption(command, "--prepare", "COMMAND", options.prepare,
            "Run once before the first start, into a folder {prepared} that commands name");
  addOption(command, "--before", "COMMAND", options.before, "Run untimed before each start (hyperfine's --prepare)");
  command.add_flag("--here", options.here,
                   "Run in the current folder (default: a fresh folder with copies of the files that commands name)");
  command.add_flag("--fresh", options.engine.fresh, "Measure everything again");
  addMachine(command, options.machine);
  addResults(command, options.results);
  addMeasuring(command, options);
}

/// `expc export`
void addExport(const Commands& to) {
  auto [command, options] =
      to.add("export", "Export results as CSV, Parquet, JSON, JUnit or Markdown", exportResults, kPlainExitCodes);
  options.format = Format::Csv;
  addMeasured(command, options, true);
  using enum Format;
  addFormat(command, options.format,
            {Csv, Parquet, Json, Junit, Markdown, Bencher, SmallerIsBetter, BiggerIsBetter, OpenMetrics},
            "What to write (default csv): a table, tables and judgement, verdicts as a test report, a "
            "summary for a pull request, or medians for services that follow benchmarks");
  addChoice<bool>(command, "--table", "TABLE", options.series, {{"measurements", false}, {"series", true}},
                  "Table to write (default measurements)");
  command.add_flag("--no-formulas", options.no_formulas,
                   "Put an apostrophe before CSV texts that a spreadsheet would run as formulas");
  addOption(command, "--max-size", "BYTES", options.max_size,
            "Maximum size of Markdown; tables at the end that do not fit are left out (default 65536, GitHub's limit; "
            "0: no limit)");
  addOption(command, "--to", "FILE", options.to, "File to write; - is standard output")->capture_default_str();
}

/// `expc compare`
void addCompare(const Commands& to) {
  auto [command, options] =
      to.add("compare", "Compare result sets: changed metrics, conclusions that no longer hold, trends over sessions",
             compare);
  command.footer(
      "A side is DIR or DIR,NAME=VALUE,… with host, run, build, program, since and before (days, 2026-11-23).\n"
      "Exit codes: 0 nothing got worse, or every conclusion holds, 1 error, 2 usage, 3 a metric got worse by more than "
      "the margin, a verdict that held is lost, or a conclusion is contradicted, 4 undecided, or not comparable, "
      "5 no results, or nothing to replicate, 6 a later side or the newest session fails.");
  addStudyOptions(command, options.study, kStudyOrPlan);
  addOption(command, "sides", "SIDE", options.sides, "Results folders or parts of them; the older one first")
      ->required();
  addMachine(command, options.machine);
  CLI::Option* margin =
      addOption(command, "--margin", "PERCENT", options.margin, "Allowed worsening of a metric in per cent (default 0)")
          ->transform(CLI::Validator(
              [](std::string& text) {
                text = StringRef(text).rtrim("% ").str();
                return std::string();
              },
              ""))
          ->check(CLI::NonNegativeNumber);
  command.add_flag("--claims", options.claims, "Show which conclusions of the first side hold on the others")
      ->excludes(margin);
  CLI::Option* by = addChoice<bool>(command, "--by", "WHAT", options.by_session, {{"session", true}},
                                    "Show each metric over all sessions, and where its level changed")
                        ->excludes("--claims")
                        ->excludes(margin);
  addOption(command, "--metric", "NAME", options.metric, "With --by: show only this metric (default: all)")->needs(by);
  command.add_flag("--all", options.all, "With --by: also show values that never changed")->needs(by);
  addFormat(command, options.format, {Format::Text, Format::Json, Format::Markdown});
}

/// `expc extract`
void addExtract(const Commands& to) {
  auto [command, options] =
      to.add("extract", "Re-read metrics from stored output after changing how the study reads them", extract,
             kPlainExitCodes);
  addMeasured(command, options, false);
}

/// `expc rehearse`. Its `--null-gpus` replaces a system's cards, so it is declared here with a help of its own.
void addRehearse(const Commands& to) {
  auto [command, options] = to.add(
      "rehearse", "Try a few steps of every point on simulated GPUs: does it start, does it fit in memory", rehearse);
  command.footer(
      "Exit codes: 0 every point runs, or does not fit as estimated, 1 error, 2 usage, 3 a point fails or unexpectedly "
      "does not fit, 5 nothing can be rehearsed, 130 interrupted.");
  addQuiet(command, options.quiet);
  addStudyOptions(command, options.study, "Study file (.exp)");
  addSystem(command, options.study, "none, --null-gpus gives the GPUs");
  addOption(command, "--null-gpus", "N[xMEMORY]|found", options.machine.null_gpus,
            "Simulated GPUs in place of a system's: N, NxMEMORY (4x94GB), or found")
      ->excludes("--system");
  addWhere(command, options.where);
  addResults(command, options.results);
  addFormat(command, options.format);
  addWorker(command, options.engine.worker, "expc-worker-cuda)");
  addOption(command, "--timeout", "SECONDS", options.engine.timeout_seconds,
            "Time limit of a point in seconds (default 1800)")
      ->check(CLI::PositiveNumber);
  command.add_flag("--again", options.engine.again, "Also repeat rehearsals that this worker has done on such GPUs");
}

/// `expc null`. CLI11 would take apart the words behind `--`, so they are passed by themselves.
void addNull(const Commands& to, const std::vector<std::string>& command_words) {
  auto [command, options] =
      to.add("null", "Run any program on simulated GPUs, and show its memory, copies, collectives and waits", null);
  command.footer(
      "The command stands behind --: expc null 4x80GiB -- torchrun --nproc-per-node 4 train.py\n"
      "Exit codes: the command's, 128+N if signal N ended it, 2 usage, 125 no such GPUs or libraries, 126 the command "
      "cannot be started, 127 there is no such command.");
  addOption(command, "gpus", "N[xMEMORY]", options.cards, "Number of GPUs, and the memory of each: 4, 4x94GB")
      ->required();
  addOption(command, "--faults", "LIST", options.faults,
            "Faults on demand, such as 'collective=100, rank=1' (docs/null-gpu.md)");
  addFormat(command, options.format, {Format::Text, Format::Json},
            "How to print (default text, to standard error); with json the command's output goes there");
  options.command = command_words;
}

/// `expc diagnose`
void addDiagnose(const Commands& to) {
  auto [command, options] =
      to.add("diagnose", "Simulate the study: how likely each criterion is to pass, fail or stay undecided", diagnose,
             kPlainExitCodes);
  addStudyOptions(command, options.study, kStudyOrPlan);
  addSystem(command, options.study, "local");
  addMachine(command, options.machine);
  addResults(command, options.results);
  addFormat(command, options.format);
  addOption(command, "--noise", "[METRIC=]SHARE", options.noise,
            "Noise of one trial, for all metrics or one (default: measured; else 1%)");
  addOption(command, "--effect", "CRITERION=VALUE", options.effects,
            "Assumed true value for a criterion (default: measured, else what the study expects, else published)");
  addOption(command, "--lost", "SHARE", options.lost,
            "Share of trials that fail and are retried (default: as measured)");
  addOption(command, "--sessions", "N", options.sessions,
            "Number of sessions in each simulated study (default: as stored, else 1)")
      ->check(CLI::Range(1, 1000));
  addOption(command, "--studies", "N", options.studies, "Number of simulated studies")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  addOption(command, "--seed", "N", options.seed, "Seed of the simulation; the same seed gives the same numbers")
      ->capture_default_str();
}

/// `expc doctor`
void addDoctor(const Commands& to) {
  auto [command, options] = to.add("doctor", "Check this machine for sources of noise, and suggest fixes", doctor,
                                   "Exit codes: 0 no problem found, 1 error, or a problem found, 2 usage.");
  addMachine(command, options.machine);
  addResults(command, options.results);
  addFormat(command, options.format);
}

/// Returns the error for a word that stands in the place of a subcommand but is none ("there is no command 'repotr':
/// did you mean 'report'?"), or "" if there is no such word. CLI11 itself would only say that arguments were not
/// expected. Words of earlier versions get the commands that replaced them.
std::string unknownCommand(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  for (size_t i = 0; i < words.size() && !at->get_subcommands(nullptr).empty(); ++i) {
    if (words[i].starts_with('-')) {
      // The next word is the value of --color, no command.
      i += words[i] == "--color";
      continue;
    }
    std::vector<std::string> names;
    const CLI::App* next = nullptr;
    for (const CLI::App* command : at->get_subcommands(nullptr)) {
      names.push_back(command->get_name());
      if (command->check_name(words[i])) next = command;
    }
    if (words[i] == "replicate")
      return "replicate is now `expc run --results DIR`, then `expc compare FILE ORIGINAL DIR --claims`";
    if (words[i] == "history") return "history is now `expc compare FILE RESULTS --by session`";
    if (!next)
      return fmt::format("unknown command '{}': {}", expc::base::printable(words[i]),
                         expc::diag::didYouMean(words[i], names, "expc --help lists them all"));
    at = next;
  }
  return "";
}

/// Returns the error for an option that the command does not have, with the nearest that it has; "" if there is none.
std::string unknownOption(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  for (const std::string& word : words) {
    if (word == "--") break;  // positionals alone follow
    if (!word.starts_with('-')) {
      for (const CLI::App* command : at->get_subcommands(nullptr))
        if (command->check_name(word)) at = command;
      continue;
    }
    // `-r8` is a short option with its value, `-1` a number.
    const std::string name = word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
    if (name.size() < 2 || std::isdigit(static_cast<unsigned char>(name[1]))) continue;
    std::vector<std::string> names;
    bool known = false;
    for (const CLI::App* own = at; own; own = own->get_parent()) {
      known = known || own->get_option_no_throw(name);
      for (const CLI::Option* option : own->get_options())
        for (const std::string& one : option->get_lnames()) names.push_back("--" + one);
    }
    if (!known)
      return fmt::format("unknown option '{}': {}", base::printable(name),
                         diag::didYouMean(name, names, "--help behind the command lists its options"));
  }
  return "";
}

/// Returns what `bench` has in place of an option of hyperfine; "" if the command line has none.
std::string hyperfinesOption(const std::vector<std::string>& words) {
  if (!is_contained(words, "bench")) return "";
  static constexpr std::pair<llvm::StringLiteral, std::string_view> kOptions[] = {
      {"-i --ignore-failure", "an `exit` in the study that bench writes"},
      {"-N -S --shell", "nothing: a shell is started only for commands that need one"},
      {"-s --setup", "--prepare"},
      {"-L --parameter-list --parameter-scan", "-P NAME=VALUE,..."},
      {"-m -M --min-runs --max-runs", "-r"},
      {"--export-json", "expc report bench.exp --format json"},
      {"--export-csv", "expc export bench.exp"},
      {"--export-markdown", "expc export bench.exp --format markdown"}};
  for (const std::string& word : words)
    for (const auto& [theirs, ours] : kOptions)
      for (const StringRef one : llvm::split(theirs, ' '))
        if (one == word.substr(0, word.find('='))) return fmt::format("bench has no {}; in its place: {}", one, ours);
  return "";
}

/// Returns what a command line of `null` lacks whose command does not stand behind --; "" for any other.
std::string withoutDashes(const std::vector<std::string>& words) {
  if (words.size() < 3 || words[0] != "null") return "";
  const std::vector<std::string> command(words.begin() + 2, words.end());
  return fmt::format("null: the command stands behind --: expc null {} -- {}", words[1],
                     base::joined(base::textsOf(command, base::shellWord), " "));
}

/// Returns the mistake in a command line that CLI11 refused, where our words say more than CLI11's; else "". `behind`:
/// the words behind `--`.
std::string mistakeIn(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words,
                      const std::vector<std::string>& behind) {
  if (error.get_exit_code() == 0) return "";  // it asks for help or the version
  const bool extra = error.get_exit_code() == int(CLI::ExitCodes::ExtrasError);
  for (const std::string& why : {unknownCommand(app, words), hyperfinesOption(words),
                                 behind.empty() ? withoutDashes(words) : "", extra ? unknownOption(app, words) : ""})
    if (!why.empty()) return why;
  return "";
}

/// Opens /dev/null in place of standard streams that the caller closed. Otherwise the next file that is opened would
/// get such a number, and whatever is printed would be written into it.
void openStandardStreams() {
  for (const auto& [number, flags] : {std::pair(0, O_RDONLY), std::pair(1, O_RDONLY), std::pair(2, O_WRONLY)})
    // open() returns the lowest free number, which is this one.
    if (fcntl(number, F_GETFD) < 0) ::open("/dev/null", flags);
}

/// Returns "\nDocumentation: …/index.html" if an installation has the pages, else "".
std::string documentation() {
  return base::framed("\nDocumentation: ", base::sharedPath("doc/expc/index.html").string());
}

/// Replaces the tilde in `--results=~/r`, which most shells leave as it is.
std::string withHome(std::string word) {
  const size_t at = word.find("=~/");
  const char* home = std::getenv("HOME");
  if (word.starts_with("--") && at == word.find('=') && at != std::string::npos && home) word.replace(at + 1, 1, home);
  return word;
}

/// Declares all commands; `behind` are the words of a command for `null`.
void addCommands(const Commands& to, const std::vector<std::string>& words, const std::vector<std::string>& behind) {
  addCheck(to);
  addPlan(to);
  addRun(to, words);
  addBench(to);
  addDiagnose(to);
  addRehearse(to);
  addNull(to, behind);
  addReport(to);
  addExport(to);
  addCompare(to);
  addExtract(to);
  addBundle(to);
  addDoctor(to);
  addJobs(to);
  addTools(to);
}

}  // namespace

int commandLine(int argc, char** argv, const std::string& built) {
  openStandardStreams();
  // Writing to a closed pipe or beyond a limit of file size is an error of that write; the default action would kill
  // a run of many hours.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // Relative paths mean nothing in a folder that was removed, and errors about them would be confusing.
  std::error_code removed;
  const auto here = std::filesystem::current_path(removed);
  if (removed || here.empty())
    return Console(ColourMode::Never).error("the current folder no longer exists: change into another one");
  std::vector<std::string> words(argv + 1, argv + argc);
  // The words of a command are its own. Only `null` has them, and it is not the value of an option before it.
  std::vector<std::string> behind;
  if (const auto dashes = std::ranges::find(words, "--");
      dashes != words.end() && std::find(words.begin(), dashes, "null") != dashes) {
    behind.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  std::ranges::transform(words, words.begin(), withHome);

  const std::string version = "expc " + std::string(kVersion) + "\n" + built;
  // --version comes first: it needs none of the options below, and scripts call it often.
  if (words == std::vector<std::string>{"--version"})
    return Console(ColourMode::Never).print(version + "\n") ? kSuccess : kError;

  Asked asked;
  CLI::App app{"expc: run performance studies and judge their claims", "expc"};
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  std::string codes;
  for (const int code : {kSuccess, kError, kUsage, kSomeFail, kSomeUndecided, kNothingRan, kBroken, kInterrupted})
    codes += fmt::format("{}{} {}", codes.empty() ? "Exit codes: " : ", ", code, meaningOf(code));
  app.footer(codes + "." + documentation());
  ColourMode colour = ColourMode::Auto;
  addChoice<ColourMode>(app, "--color", "WHEN", colour,
                        {{"auto", ColourMode::Auto}, {"always", ColourMode::Always}, {"never", ColourMode::Never}},
                        "When to use colours (default auto: in a terminal, unless NO_COLOR is set or TERM is dumb)");
  // --color may stand behind the subcommand, too.
  app.fallthrough();
  const Commands to{app, asked};
  addCommands(to, words, behind);

  // Shells call this while a line is typed. It is not shown in the help, and comes after all commands are declared,
  // since it lists them.
  if (argc >= 2 && std::string_view(argv[1]) == "complete-words") {
    const Console plain(ColourMode::Never);
    return plain.codeOf(printCompletion(app, std::vector<std::string>(argv + 2, argv + argc), plain));
  }

  // The engine starts agents on the nodes of a run with this word; users never type it.
  if (argc == 2 && std::string_view(argv[1]) == "agent") {
    engine::nodes::runAgent();
    return kSuccess;
  }

  try {
    // CLI11 takes the words in reverse order.
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (const std::string why = mistakeIn(app, error, words, behind); !why.empty())
      return Console(colour).codeOf(usage("{}", why));
    // CLI11 prints help, version or the error here; any code of its own but 0 is a mistake in the command line.
    const int code = app.exit(error);
    return code == 0 ? kSuccess : kUsage;
  }
  const Console console(colour);
  return console.codeOf(asked(console));
}

}  // namespace expc::cli
