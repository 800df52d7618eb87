// The `expc` command: options in, one call out.

#include <CLI/CLI.hpp>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/driver/choice.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/completion.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/tools.h"
#include "compiler/driver/version.h"

namespace {

using namespace expc::driver;

constexpr const char* kRehearseExitCodes =
    "Exit codes: 0 every point runs, or does not fit where that is expected, 1 error, 2 usage, 3 some point fails or "
    "unexpectedly does not fit, 5 nothing can be rehearsed, 130 interrupted.";

void addStudyOptions(CLI::App& command, StudyOptions& options, const char* file_help) {
  command.add_option("file", options.file, file_help)->required()->type_name("FILE");
  command.add_option("--study", options.study, "Which study, where the file holds several (all, if not given)")
      ->type_name("NAME");
  command.add_option("--preset", options.presets, "Apply a preset of the study; repeat for several, in order")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command
      .add_option("-D", options.overrides,
                  "Select levels of a factor, replace an argument or a design setting (-D design.timed.repeat=20)")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

void addSystem(CLI::App& command, StudyOptions& options, const char* otherwise) {
  command
      .add_option(
          "--system", options.system,
          std::string("The machine to ask: local, one that the study declares or imports, or one of std.systems "
                      "(proxima, …); default: ") +
              otherwise)
      ->type_name("NAME");
}

void addMachine(CLI::App& command, MachineOptions& options) {
  command
      .add_option("--devices", options.devices,
                  "Slots to use: N, or cpu:N for N groups of cores (default: every GPU, else up to 4 groups)")
      ->type_name("N|cpu:N");
  command
      .add_option("--null-gpus", options.null_gpus,
                  "GPUs that compute nothing, to rehearse a study: N, N with the memory of each, or those found here; "
                  "no verdict comes from them")
      ->type_name("N[xMEMORY]|found")
      ->envname("EXPC_NULL_GPUS");
}

void addResults(CLI::App& command, std::string& results) {
  command.add_option("--results", results, "Folder that holds the measurements")
      ->type_name("DIR")
      ->capture_default_str();
}

void addJson(CLI::App& command, bool& json) {
  addChoice<bool>(command, "--format", json, {{"text", false}, {"json", true}}, "How to print (default text)")
      ->type_name("FORMAT");
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of the write, not the end of a run

  CLI::App app{"expc: performance studies as source code", "expc"};
  app.set_version_flag("--version", "expc " + std::string(kVersion));
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 all criteria pass, 1 error, 2 usage, 3 some criterion fails, 4 some undecided, 5 nothing ran, 130 "
      "interrupted.");
  ColourMode colour = ColourMode::Auto;
  addChoice<ColourMode>(app, "--color", colour,
                        {{"auto", ColourMode::Auto}, {"always", ColourMode::Always}, {"never", ColourMode::Never}},
                        "Whether to colour what is printed (default auto: in a terminal, without NO_COLOR)")
      ->type_name("WHEN");
  app.fallthrough();

  CheckOptions check_options;
  CLI::App* check_command =
      app.add_subcommand("check", "Report every mistake in a study that can be known before a run");
  check_command->footer(kPlainExitCodes);
  addStudyOptions(*check_command, check_options.study, "Study file (.exp)");
  addSystem(*check_command, check_options.study, "none, the machine is not looked at");
  addChoice<CheckFormat>(*check_command, "--format", check_options.format,
                         {{"text", CheckFormat::Text}, {"json", CheckFormat::Json}, {"sarif", CheckFormat::Sarif}},
                         "How to print diagnostics (default text); sarif is SARIF 2.1.0, for editors and code review")
      ->type_name("FORMAT");
  CLI::Option* fix_flag = check_command->add_flag("--fix", check_options.fix,
                                                  "Carry out the changes that are certain, then report what is left");
  check_command->add_flag("--diff", check_options.diff, "With --fix: show the changes and write nothing")
      ->needs(fix_flag);

  PlanOptions plan_options;
  CLI::App* plan_command =
      app.add_subcommand("plan", "Show every point and trial, what each rule removed, and what it costs");
  plan_command->footer(kPlainExitCodes);
  addStudyOptions(*plan_command, plan_options.study, "Study file (.exp)");
  addChoice<PlanFormat>(*plan_command, "--format", plan_options.format,
                        {{"text", PlanFormat::Text}, {"json", PlanFormat::Json}, {"jsonl", PlanFormat::JsonLines}},
                        "How to print (default text); json is what `expc run` accepts, jsonl has a line for each point")
      ->type_name("FORMAT");
  plan_command->add_flag("--all", plan_options.all_points, "Print every point, also where there are many");
  plan_command
      ->add_option("--where", plan_options.where,
                   "Only points that satisfy a condition over factors and parameters: --where 'gpus > 1'")
      ->type_name("CONDITION");
  plan_command->add_option("--page", plan_options.page, "Which page of the points to print, 50 on each")
      ->type_name("N")
      ->check([](const std::string& page) {
        return page.find_first_not_of("0") == std::string::npos ? "pages are counted from 1" : std::string();
      });
  plan_command->add_flag("--lock", plan_options.lock,
                         "Write FILE.lock, which `expc run` holds the study to from then on");
  plan_command->add_option("--diff", plan_options.diff, "Say what changed since a lock was written")->type_name("LOCK");
  plan_command
      ->add_option("--explain", plan_options.explain,
                   "Say where each value of a point comes from, or what removed it: an id, or 'precision=fp32 gpus=2'")
      ->type_name("POINT");
  for (const char* mode : {"--lock", "--diff", "--explain"})
    for (const char* other : {"--lock", "--diff", "--explain", "--where", "--page"})
      if (std::string_view(mode) != other) plan_command->get_option(mode)->excludes(plan_command->get_option(other));
  addSystem(*plan_command, plan_options.study, "local");
  addMachine(*plan_command, plan_options.machine);
  addResults(*plan_command, plan_options.results);

  RunOptions run_options;
  CLI::App* run_command = app.add_subcommand("run", "Measure what is still missing, then judge and report");
  addStudyOptions(*run_command, run_options.study, "Study file (.exp) or a plan (expc plan --format json)");
  addMachine(*run_command, run_options.machine);
  addResults(*run_command, run_options.results);
  addJson(*run_command, run_options.json);
  run_command
      ->add_option("--worker", run_options.worker,
                   "The program that runs trials (default: beside expc, expc-worker, or expc-worker-cuda for GPUs)")
      ->type_name("PATH");
  run_command->add_option("--html", run_options.html, "Where to write the report page (default: in the results folder)")
      ->type_name("FILE");
  run_command->add_option("--timeout", run_options.timeout_seconds, "Seconds after which a trial ends as a timeout")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber);
  run_command
      ->add_option("--heat-up", run_options.heat_up_seconds, "Seconds of load before the first trial of a session")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS")
      ->capture_default_str();
  run_command->add_flag("--keep-trials", run_options.keep_trials,
                        "Keep the folder of every trial of a command, not only of those that went wrong");
  run_command
      ->add_option("--trace", run_options.traces,
                   "Also trace a few steps of one profile trial of each point into this folder, for Perfetto")
      ->type_name("DIR");
  run_command->add_flag("--try-infeasible", run_options.try_infeasible,
                        "Also start points whose estimated memory is more than the system has");
  run_command->add_flag("--verdicts-ok", run_options.verdicts_ok,
                        "Exit with 0 when every criterion has a verdict, whatever it is");

  RehearseOptions rehearse_options;
  CLI::App* rehearse_command = app.add_subcommand(
      "rehearse",
      "Try a few steps of every point on GPUs that compute nothing: does it run, does it fit, what does it do");
  rehearse_command->footer(kRehearseExitCodes);
  addStudyOptions(*rehearse_command, rehearse_options.study, "Study file (.exp)");
  addSystem(*rehearse_command, rehearse_options.study, "none, --null-gpus says which cards");
  rehearse_command
      ->add_option("--null-gpus", rehearse_options.null_gpus,
                   "The cards in place of a system's: N, N with the memory of each, or those found here")
      ->type_name("N[xMEMORY]|found")
      ->excludes("--system");
  rehearse_command
      ->add_option("--where", rehearse_options.where,
                   "Only points that satisfy a condition over factors and parameters: --where 'gpus > 1'")
      ->type_name("CONDITION");
  addResults(*rehearse_command, rehearse_options.results);
  addJson(*rehearse_command, rehearse_options.json);
  rehearse_command
      ->add_option("--worker", rehearse_options.worker,
                   "The program that runs trials (default: expc-worker-cuda, beside expc)")
      ->type_name("PATH");
  rehearse_command
      ->add_option("--timeout", rehearse_options.timeout_seconds,
                   "Seconds after which a point has failed (default 1800)")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber);
  rehearse_command->add_flag("--again", rehearse_options.again,
                             "Also rehearse points that this worker has rehearsed on such cards");

  ReportOptions report_options;
  CLI::App* report_command = app.add_subcommand("report", "Judge and report what is stored; measures nothing");
  addStudyOptions(*report_command, report_options.study, "Study file (.exp) or a plan (expc plan --format json)");
  addMachine(*report_command, report_options.machine);
  addResults(*report_command, report_options.results);
  addJson(*report_command, report_options.json);
  report_command
      ->add_option("--html", report_options.html, "Where to write the report page (default: in the results folder)")
      ->type_name("FILE");

  Tools tools(app);

  // What a shell asks while a line is typed; the words are no command line of ours.
  if (argc >= 2 && std::string_view(argv[1]) == "complete-words")
    return printCompletion(app, std::vector<std::string>(argv + 2, argv + argc), Console(ColourMode::Never));

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? kSuccess : kUsage;
  }

  const Console console(colour);
  if (*check_command) return check(check_options, console);
  if (*plan_command) return plan(plan_options, console);
  if (*run_command) return run(run_options, console);
  if (*rehearse_command) return rehearse(rehearse_options, console);
  if (*report_command) return report(report_options, console);
  return tools.run(console);
}
