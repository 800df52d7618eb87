#pragma once

// The steps that commands share: compile a study or read a plan, find the machine that the plan is for, and read and
// judge its stored results. Functions that take a Console have already printed what went wrong when they return
// nothing or false; the errors of all others are printed where the command ends (Console::codeOf). Sources:
// compilation.cpp, lookups.cpp, systems.cpp, verdicts.cpp, diagnose_command.cpp.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "compiler/check/value/formula.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/diag/source.h"
#include "compiler/lower/lower.h"
#include "runtime/base/llvm.h"
#include "runtime/cluster/slurm.h"
#include "runtime/engine/engine.h"
#include "runtime/machine/machine.h"
#include "runtime/plan/plan.h"
#include "runtime/rehearsal/rehearsal.h"
#include "runtime/simulate/diagnosis.h"
#include "runtime/store/records.h"
#include "runtime/store/store.h"

namespace expc::cli {

/// Everything that one invocation compiles, with all diagnostics on the way. Not movable in practice: `emitter` and
/// `program` refer to its other members.
struct Compilation {
  source::SourceManager sources;
  diag::Collector diagnostics;
  diag::Emitter emitter{diagnostics};
  /// Messages about files that estimates could not read (see fileLookups).
  std::vector<std::string> notes;
  /// The checked study file with its imports; absent if the file could not be read.
  std::optional<check::Program> program;
  /// Whether anything went wrong, including what is no diagnostic, such as a file that cannot be read.
  bool failed = false;

  /// The exit code of a command that ends with these diagnostics: kUsage if only the command line is wrong, kError for
  /// any other error.
  int code() const;
};

/// The number of tokens of Llama 3 (`vocab_size` of its config.json). A vocabulary of this size without a tokenizer
/// file is suspicious, since then every byte counts as a token.
inline constexpr int64_t kLlama3Vocabulary = 128'256;

/// The first argument by which `row_tokens` answers with the length of the median row instead of the longest.
inline constexpr const char* kMedianRow = "median";

/// Returns the functions by which estimates ask about files (compiler/check/value/formula.h): the sizes of a model as
/// the worker reads them, and the lengths of rows as the worker would cut them. Each file is read once. A missing or
/// damaged file leaves the answer unknown and adds a line to `notes`, which must outlive the result: what is wrong and
/// what that means for the plan. Relative paths start at the folder of `study`. At most `byte_limit` bytes of each
/// file of rows are read; 0: all.
check::Lookup fileLookups(const std::string& study, std::vector<std::string>& notes, uint64_t byte_limit);

/// Parses and checks `text` as if it were the file `name`; imports are read through `files`. `overrides`: texts of
/// `-D`.
void compile(const std::string& name, std::string text, const load::FileSystem& files, Compilation& compilation,
             const std::vector<std::string>& overrides = {});

/// Reads and checks the file that `options` names. If that file cannot be read, says so on `console` and leaves
/// `program` absent.
void open(const StudyOptions& options, const load::FileSystem& files, const Console& console, Compilation& compilation);

/// Opens a study for a command that needs one without errors. Fails after showing the diagnostics.
Error openWithoutErrors(const StudyOptions& options, const Console& console, Compilation& compilation);

/// Reads and checks the studies that `options` selects, including every mistake in their points that can be known
/// before a run. Looks at the machine only if `options` names one. Shows nothing: the diagnostics stay in
/// `compilation`.
void verify(const StudyOptions& options, const load::FileSystem& files, const Console& console,
            Compilation& compilation);

/// Shows all diagnostics on standard error, sorted by position and each once, then counts them. Returns false if any
/// was an error.
bool showDiagnostics(Compilation& compilation, const Console& console);

/// Replaces the texts of existing files, by name: each whole or not at all, and none if any of them may not be written.
/// The mode of a file stays, and a link still points at its file. A read-only file is refused, even if its folder would
/// allow replacing it. Errors begin with "cannot write" and the file's name.
Error replaceFiles(const std::map<std::string, std::string>& texts);

/// A plan, and the ids of the points that `--where` chooses; absent without that option.
struct ChosenPlan {
  Plan plan;
  std::optional<std::set<std::string>> chosen;
  /// The values that the study expects; empty for a plan from a file.
  std::vector<check::Expectation> expected = {};
};

using ChosenPlans = std::vector<ChosenPlan>;

/// Plans the studies that `options` selects for `system`. Fails after showing diagnostics.
Expected<ChosenPlans> plansFor(const check::System& system, const StudyOptions& options,
                               const std::optional<std::string>& where, Compilation& compilation,
                               const Console& console);
/// Fails unless plan::validate accepts the plans, which a command that stores them or hands them on must know;
/// otherwise no expc could read them again.
Error canBeKept(const ChosenPlans& plans);
/// Fails if there are several studies, which `what` ("a plan", "a picture") cannot show; says how to choose one.
Error oneStudy(const StudyOptions& options, size_t studies, std::string_view what);
/// Returns the plans of a study file, compiled for `machine`, or the plan in a plan file, with the points that satisfy
/// `where`.
Expected<ChosenPlans> loadPlans(const StudyOptions& options, const MachineOptions& machine,
                                const std::optional<std::string>& where, const Console& console);

/// Like loadPlans, for commands that read stored results: the plan is made for the machine of the newest session in the
/// results folder (preferring sessions on real devices), unless options name a machine, so that results mean the same
/// wherever they are read. If `store` is given, it gets the opened store and its messages are shown; a folder without a
/// readable store is then an error.
Expected<ChosenPlans> loadMeasured(const MeasuredOptions& options, const Console& console,
                                   std::optional<store::Store>* store = nullptr);

// ---- the machine that a plan is for (systems.cpp)

/// Sets the devices and the worker programs in `resources`. Workers that are not named are those beside this program.
Error addResources(const MachineOptions& options, engine::Resources& resources);

/// Returns the machine called `name`: "local" (this machine under `options`, or the one that `options.measured` says),
/// a system that the study's file declares or imports ("box", "systems.proxima"), or one of std.systems without its
/// module ("proxima"). The error lists all names.
Expected<check::System> findSystem(const check::Program& program, const std::string& name,
                                   const MachineOptions& options);
/// Returns this machine as rules with `system` and estimates see it; its slots (`--devices`) count as `gpus`, and
/// without a GPU no property of one is known. On the login node of an allocation only the number of its nodes is known.
Expected<check::System> localSystem(const MachineOptions& options);

/// Returns the names of the machines in std.systems, without their module.
std::vector<std::string> builtInSystems();

/// Returns the allocation of Slurm that trials run in; nothing outside of one, or if `--agents-by` says how agents
/// start.
Expected<std::optional<cluster::Allocation>> allocationOf(const MachineOptions& options);

/// Returns the number of nodes that trials run on: `--nodes`, else all of the allocation, else 1.
unsigned nodesOf(const MachineOptions& options, const std::optional<cluster::Allocation>& allocation);

/// Returns the null cards that `--null-gpus` asks for, if any. The error says how the option is written, or what is
/// missing.
Expected<std::optional<machine::NullGpus>> nullGpusOf(const MachineOptions& options);

// ---- what is stored for a plan (verdicts.cpp, diagnose_command.cpp)

/// Opens the results in a folder for reading. Messages about damage go to `console`, if given.
Expected<store::Store> openStore(const std::string& folder, const Console* console = nullptr);

/// Judges the results of `plan`, prints the judgement and writes the report page. Returns the exit code of the
/// verdicts.
Exit showVerdicts(const Plan& plan, const Results& results, const ReportOptions& options, const Console& console);

/// Fails if these options cannot show that many studies: the next one would overwrite or follow the last one.
Error canShow(const ReportOptions& options, size_t studies);

/// Returns the stored rehearsals of the study; nothing if there are none, or after saying that their file cannot be
/// read.
std::optional<rehearsal::Study> rehearsedOf(const Plan& plan, const std::string& results, const Console& console);

/// Returns the results of `plan` from the newest worker that ran it; empty results if the folder holds none. The error
/// says why it cannot be read.
Expected<Results> storedOf(const Plan& plan, const std::string& results_folder, bool null_cards);

/// Simulates the plan's design on the basis of the results in `results`, and prints what it can be expected to find.
Exit showDiagnosis(const Plan& plan, const std::string& results, bool null_cards, Format format,
                   const simulate::Assumptions& assumptions, simulate::DiagnosisOptions how, const Console& console);

/// Returns the worse of two exit codes, for commands on several studies: 130, 1, 2, 6, 3, 4, 5, 0, worst first.
int worse(int first, int second);

}  // namespace expc::cli
