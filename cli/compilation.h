#pragma once

// Steps that commands share: they compile studies, ask which machine a plan is for, and read its stored results.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "compiler/check/formula/formula.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/lower/lower.h"
#include "compiler/source/source.h"
#include "runtime/cluster/slurm.h"
#include "runtime/engine/engine.h"
#include "runtime/machine/machine.h"
#include "runtime/plan/plan.h"
#include "runtime/rehearsal/rehearsal.h"
#include "runtime/simulate/diagnosis.h"
#include "runtime/store/records.h"
#include "runtime/store/store.h"

namespace expc::cli {

/// Everything that one invocation compiles, with what was said on the way.
struct Compilation {
  source::SourceManager sources;
  diag::Collector diagnostics;
  diag::Emitter emitter{diagnostics};
  std::vector<std::string> notes;         // of what could not be looked up in files
  std::optional<check::Program> program;  // of a file that could be read
  bool failed = false;

  /// The exit code of a command that ends with what was said: kUsage where only the command line is wrong.
  int code() const;
};

/// Tokens of Llama 3.
inline constexpr int64_t kLlama3Vocabulary = 128'256;

/// What estimates ask of files (compiler/check/formula/formula.h), each read once: a model's sizes as the worker reads
/// them, the lengths of rows as it would cut them. Of what is missing or damaged nothing is known: `notes`, which must
/// outlive it, says what that was and what it means for the plan, a line each. Relative paths start at the folder of
/// `study`.
check::Lookup fileLookups(const std::string& study, std::vector<std::string>& notes);

/// Checks a text as a file of that name.
void compile(const std::string& name, std::string text, const load::FileSystem& files, Compilation& compilation);

/// Reads and checks the file that `options` names. A root file that cannot be read is said on `console`, and leaves no
/// program.
void open(const StudyOptions& options, const load::FileSystem& files, const Console& console, Compilation& compilation);

/// Opens a compilation for a command that needs a study without errors; false after showing why not.
bool openWithoutErrors(const StudyOptions& options, const Console& console, Compilation& compilation);

/// Reads and checks the studies that `options` selects, with all that can be known before a run. It never looks at the
/// machine, unless `options` name one.
void verify(const StudyOptions& options, const load::FileSystem& files, const Console& console,
            Compilation& compilation);

/// Diagnostics by position, each once: as text on standard error, with a closing count. False where there was an error.
bool showDiagnostics(Compilation& compilation, const Console& console);

/// Gives files that exist new texts, by name: each whole or not at all, and none if one is not to be written. A file's
/// mode stays, and a link goes on to point at it; a read-only file is refused, even where its folder would allow it.
/// Errors begin with "cannot write" and the file's name.
llvm::Error replaceFiles(const std::map<std::string, std::string>& texts);

/// A plan, and the ids of the points that a condition chooses, where there is one.
struct ChosenPlan {
  plan::Plan plan;
  std::optional<std::set<std::string>> chosen;
};

/// Plans, or the exit code of a command that ends because there are none.
struct LoadedPlans : std::optional<std::vector<ChosenPlan>> {
  int code = 0;
};

/// The plans of the studies that `options` selects, for a system; nothing after showing what is wrong.
LoadedPlans plansFor(const check::System& system, const StudyOptions& options, const std::optional<std::string>& where,
                     Compilation& compilation, const Console& console);
/// Whether an expc could read the plans again, which a command that keeps them or hands them on has to know; says so
/// otherwise.
bool canBeKept(const std::vector<ChosenPlan>& plans, const Console& console);
/// Why `what` cannot be had of as many studies as a file has, with the way out; "" where that is one.
std::string tooManyStudies(const StudyOptions& options, size_t studies, std::string_view what);
/// The plans of a study file (compiled for this machine's slots) or of a plan file, with the points at which `where`
/// holds; nothing after saying why.
LoadedPlans loadPlans(const StudyOptions& options, const MachineOptions& machine,
                      const std::optional<std::string>& where, const Console& console);

/// The same for whoever reads the results in a folder. The machine is that of the newest session there (of those on
/// real devices, if there are any), unless options name one: what it could run is judged, wherever that is read.
/// `store`, if it is asked for, is what lies there, after what there is to say of it; without it there are no plans.
LoadedPlans loadMeasured(const MeasuredOptions& options, const Console& console,
                         std::optional<store::Store>* store = nullptr);

// ---- the machine that a plan is for (systems.cpp)

/// Adds what trials run on by these options; where no worker for built-in workloads is named, those beside this
/// program.
llvm::Error addResources(const MachineOptions& options, engine::Resources& resources);

/// The machine called `name`: "local", as `options` say and rules with `system` and estimates see it, one that the
/// study's file declares or imports ("box", "systems.proxima"), or one of std.systems without its module ("proxima").
/// The error says which ones there are.
llvm::Expected<check::System> findSystem(const check::Program& program, const std::string& name,
                                         const MachineOptions& options);
/// This machine as rules with `system` and estimates see it: its slots (`--devices`) count as `gpus`; without a GPU
/// nothing is known of one. On the login node of an allocation only how many nodes that has.
llvm::Expected<check::System> localSystem(const MachineOptions& options);

/// The names of the machines of std.systems.
std::vector<std::string> builtInSystems();

/// The allocation that trials run in; nothing where there is none, or where agents are started by a line of the user's.
llvm::Expected<std::optional<cluster::Allocation>> allocationOf(const MachineOptions& options);

/// On how many nodes trials run by these options.
unsigned nodesOf(const MachineOptions& options, const std::optional<cluster::Allocation>& allocation);

/// The null cards that `--null-gpus` asks for, if it does. The error says how the option is written, or what is
/// missing.
llvm::Expected<std::optional<machine::NullGpus>> nullGpusOf(const MachineOptions& options);

// ---- what is stored for a plan (verdicts.cpp, diagnose_command.cpp)

/// The results in a folder, to be read; `console` is told what there is to say of them, if it is given.
llvm::Expected<store::Store> openStore(const std::string& folder, const Console* console = nullptr);

/// Judges what is stored of `plan`, prints it and writes the report page. Returns the exit code of the verdicts, or
/// kError after saying why.
int showVerdicts(const plan::Plan& plan, const store::Results& results, const ReportOptions& options,
                 const Console& console);

/// Why what these options ask for cannot show as many studies: another would be written over it, or after it; "" where
/// it can.
std::string showsOneStudy(const ReportOptions& options, size_t studies);

/// The results of rehearsals of the study; nothing after saying that their file cannot be read.
std::optional<rehearsal::Study> rehearsedOf(const plan::Plan& plan, const std::string& results, const Console& console);

/// What is stored for `plan`, of the newest worker that ran it; nothing where the folder holds no results. The error
/// says why it cannot be read.
llvm::Expected<store::Results> storedOf(const plan::Plan& plan, const std::string& results_folder, bool null_cards);

/// Prints what the plan's design can be expected to find, from what is stored in `results`; kSuccess, or kError after
/// saying why not.
int showDiagnosis(const plan::Plan& plan, const std::string& results, bool null_cards, Format format,
                  const simulate::Assumptions& assumptions, simulate::DiagnosisOptions how, const Console& console);

/// The exit code that decides over several studies, worst first: 130, 1, 3, 4, 5, 0.
int worse(int first, int second);

}  // namespace expc::cli
