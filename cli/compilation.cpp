// Compiling for commands: from the file that was named to checked studies, diagnostics on standard error, and plans. A
// file is a study or a plan (JSON); both end as plans here, so that later steps need not know which it was. Every
// function that fails has shown why, and leaves an exit code.

#include "cli/compilation.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/study_rows.h"
#include "compiler/check/check.h"
#include "compiler/diag/render.h"
#include "compiler/parse/parse.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/text.h"
#include "runtime/plan/plan.h"
#include "runtime/report/document.h"

namespace expc::cli {

namespace {

/// Whether a text is a plan: a plan is a JSON object, and a study never begins with a brace.
bool looksLikePlan(StringRef text) { return text.ltrim().starts_with("{"); }

/// Reads a plan; the error names the file and how to write a plan.
Expected<Plan> readPlan(const std::string& path, StringRef text) {
  Expected<json::Value> json = parseJson(text);
  if (!json)
    return failure("{} is not a plan: {}; write one with `expc plan STUDY.exp --format json`", path, json.takeError());
  Expected<Plan> plan = plan::planFromJson(*json);
  if (!plan) return failure("{}: {}", path, plan.takeError());
  return plan;
}

/// Returns the study files in a folder, sorted; none if `folder` is not a folder.
std::vector<std::string> studiesIn(const std::string& folder) {
  std::vector<std::string> studies;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().extension() == ".exp") studies.push_back(at->path().lexically_normal().string());
  std::ranges::sort(studies);
  return studies;
}

/// Returns the closing hint to `expc explain`. It names several kinds of diagnostics, since each has a page of its own.
std::string explainHint(const std::vector<diag::Kind>& kinds) {
  constexpr size_t kNamed = 4;
  std::string others;
  for (size_t i = 1; i < std::min(kinds.size(), kNamed); ++i) others += fmt::format(", {}", diag::code(kinds[i]));
  if (kinds.size() > kNamed) others += ", …";
  return fmt::format("run 'expc explain {}' for more{}", diag::code(kinds.front()),
                     others.empty() ? "" : fmt::format(" (also{})", others.substr(1)));
}

/// Sorts the diagnostics; nothing may be added afterwards.
void finish(Compilation& compilation) {
  compilation.failed |= compilation.emitter.errors() > 0;
  diag::sortByPlace(compilation.diagnostics.diagnostics);
}

/// Returns the ids of the study's points that satisfy a condition (`--where 'gpus > 1'`); nothing after a report.
std::optional<std::set<std::string>> pointsWhere(points::Prepared& prepared, const std::string& condition,
                                                 diag::Emitter& emitter) {
  const auto holds = prepared.condition(condition, emitter);
  if (!holds) return std::nullopt;
  std::set<std::string> ids;
  prepared.space->forEach([&](expand::Levels point) {
    if (holds->holds(point)) ids.insert(std::string(prepared.writer->id(point)));
    return true;
  });
  return ids;
}

}  // namespace

int Compilation::code() const {
  const auto asked = [&](const diag::Diagnostic& one) {
    // A diagnostic about a setting of the command line lies in a pseudo file named after its option ("-D"), or has no
    // place. NoStudy has no place either, but is about the file.
    return one.range.isValid() ? sources.name(one.range.file).starts_with('-') : one.kind != diag::Kind::NoStudy;
  };
  // One error in a file outweighs all mistakes of the command line.
  bool any = false;
  for (const diag::Diagnostic& one : diagnostics.diagnostics) {
    if (one.severity != diag::Severity::Error) continue;
    if (!asked(one)) return kError;
    any = true;
  }
  return any ? kUsage : failed ? kError : kSuccess;
}

void compile(const std::string& name, std::string text, const load::FileSystem& files, Compilation& compilation,
             const std::vector<std::string>& overrides) {
  // Lookups belong to the file's folder, so that paths in it mean the same from wherever expc is called.
  const auto root = parse::load(compilation.sources, name, std::move(text), compilation.emitter);
  if (!root) return;
  compilation.program =
      check::check(compilation.sources, load::load(compilation.sources, *root, files, compilation.emitter),
                   compilation.emitter, fileLookups(name, compilation.notes, kPlannedBytes), overrides);
}

void open(const StudyOptions& options, const load::FileSystem& files, const Console& console,
          Compilation& compilation) {
  Expected<std::string> text = files.read(options.file);
  // A script is the likeliest slip: errors about its syntax would not help.
  static constexpr llvm::StringLiteral kScripts[] = {".py", ".sh", ".js", ".ipynb", ".toml", ".yaml", ".yml"};
  if (text && std::ranges::any_of(kScripts, [&](StringRef end) { return options.file.ends_with(end); })) {
    console.error("{} is not a study; `expc new` writes one that runs it, and `expc bench` times it", options.file);
    compilation.failed = true;
    return;
  }
  if (text) return compile(options.file, std::move(*text), files, compilation, options.overrides);
  std::string why = toString(text.takeError());
  if (std::vector<std::string> studies = studiesIn(options.file); !studies.empty())
    why += "; name a study in it: " + report::fewOf(std::move(studies), 3);
  console.error("cannot read {}: {}", options.file, why);
  compilation.failed = true;
}

Error openWithoutErrors(const StudyOptions& options, const Console& console, Compilation& compilation) {
  open(options, load::FileSystem::real(), console, compilation);
  if (compilation.program && compilation.emitter.errors() == 0) return Error::success();
  showDiagnostics(compilation, console);
  return ended(compilation.code(), "");
}

void verify(const StudyOptions& options, const load::FileSystem& files, const Console& console,
            Compilation& compilation) {
  open(options, files, console, compilation);
  std::optional<check::System> system;
  if (compilation.program && options.system) {
    auto found = findSystem(*compilation.program, *options.system, {});
    compilation.failed |= !found;
    if (found)
      system = std::move(*found);
    else
      console.error(found.takeError());
  }
  if (compilation.program)
    points::verify(*compilation.program, options, compilation.emitter, system ? &*system : nullptr);
  finish(compilation);
}

bool showDiagnostics(Compilation& compilation, const Console& console) {
  finish(compilation);
  for (const std::string& note : compilation.notes) console.message("note: " + note);
  size_t errors = 0, warnings = 0;
  // Each kind once, kinds of errors first: the hint below names only the first few.
  std::vector<diag::Kind> kinds;
  for (const diag::Severity severity : {diag::Severity::Error, diag::Severity::Warning})
    for (const diag::Diagnostic& diagnostic : compilation.diagnostics.diagnostics)
      if (diagnostic.severity == severity) base::addOnce(kinds, diagnostic.kind);
  for (const diag::Diagnostic& diagnostic : compilation.diagnostics.diagnostics) {
    console.rendered(diag::renderText(compilation.sources, diagnostic, console.colourErr()));
    (diagnostic.severity == diag::Severity::Error ? errors : warnings)++;
  }
  if (errors + warnings == 0) return !compilation.failed;
  std::vector<std::string> counts;
  if (errors > 0) counts.push_back(base::counted(errors, "error"));
  if (warnings > 0) counts.push_back(base::counted(warnings, "warning"));
  console.message(base::joined(counts));
  console.message(explainHint(kinds));
  return !compilation.failed;
}

Error replaceFiles(const std::map<std::string, std::string>& texts) {
  // All targets are checked before the first is written, so that no file changes if one cannot. A link is followed
  // here: writing replaces the file that it leads to, not the link.
  std::map<std::string, llvm::SmallString<256>> targets;
  for (const auto& [name, text] : texts) {
    llvm::SmallString<256>& target = targets[name];
    std::error_code code = llvm::sys::fs::real_path(name, target);
    if (!code) code = llvm::sys::fs::access(target, llvm::sys::fs::AccessMode::Write);
    if (code) return failure("cannot write {}: {}", name, code.message());
  }
  for (const auto& [name, text] : texts)
    if (const std::error_code code = llvm::errorToErrorCode(files::write(targets[name].str().str(), text)))
      return failure("cannot write {}: {}", name, code.message());
  return Error::success();
}

Expected<ChosenPlans> plansFor(const check::System& system, const StudyOptions& options,
                               const std::optional<std::string>& where, Compilation& compilation,
                               const Console& console) {
  ChosenPlans plans;
  // Planning goes on after an error in one study, so that all errors are shown at once.
  for (const auto& prepared :
       points::Prepared::all(*compilation.program, options, &system, compilation.emitter, lower::kMaxPlanPoints)) {
    auto plan = lower::planOf(*prepared, compilation.emitter);
    if (!plan) continue;
    plans.push_back({std::move(*plan), std::nullopt, prepared->study().expected});
    // The condition is checked per study, since studies have different factors.
    if (where) plans.back().chosen = pointsWhere(*prepared, *where, compilation.emitter);
  }
  if (!showDiagnostics(compilation, console)) return ended(compilation.code(), "");
  // Warnings were shown, too; they do not keep a command from going on.
  return plans;
}

Error canBeKept(const ChosenPlans& plans) {
  for (const ChosenPlan& one : plans)
    if (auto unreadable = plan::validate(one.plan))
      return failure("study {} makes a plan that expc cannot read: {}", one.plan.study, std::move(unreadable));
  return Error::success();
}

Error oneStudy(const StudyOptions& options, size_t studies, std::string_view what) {
  if (studies < 2) return Error::success();
  return usage("{} has {} studies, but {} is for one: choose it with --study NAME", options.file, studies, what);
}

Expected<ChosenPlans> loadMeasured(const MeasuredOptions& options, const Console& console,
                                   std::optional<store::Store>* store) {
  std::vector<std::string> messages;
  std::optional<store::Store> own;
  std::optional<store::Store>& found = store ? *store : own;
  std::string missing;
  // The store is opened at most once, and only after the study compiled: whoever misspells the study's name wants to
  // hear of that first.
  const auto read = [&]() -> const store::Store* {
    if (!found && missing.empty()) {
      auto opened = store::Store::openForReading(options.results, messages);
      if (opened)
        found.emplace(std::move(*opened));
      else
        missing = toString(opened.takeError());
    }
    return found ? &*found : nullptr;
  };
  // Options that name devices decide what "local" is; only without them it is the machine that measured.
  MachineOptions machine = options.machine;
  if (machine.devices.empty() && machine.null_gpus.empty()) machine.measured = read;
  auto plans = loadPlans(options.study, machine, std::nullopt, console);
  if (!plans || !store) return plans;
  // Messages about the store come after those about the study, and only once.
  const bool is_there = read();
  console.messages(messages);
  if (!is_there) return failure("{}", missing);
  return plans;
}

Expected<ChosenPlans> loadPlans(const StudyOptions& options, const MachineOptions& machine,
                                const std::optional<std::string>& where, const Console& console) {
  // A file that cannot be read goes the way of a study, which shows the reason.
  const auto buffer = expectedToOptional(files::read(options.file));
  if (!buffer || !looksLikePlan((*buffer)->getBuffer())) {
    Compilation compilation;
    TRY(openWithoutErrors(options, console, compilation));
    auto system = TRY(findSystem(*compilation.program, options.system.value_or("local"), machine));
    return plansFor(system, options, where, compilation, console);
  }

  // A plan has fixed what these options choose, so they are refused rather than ignored.
  if (options.study || !options.plain())
    return usage("{} is a plan, which already contains --study, --preset and -D: repeat `expc plan` with them",
                 options.file);
  if (where) return usage("{} is a plan, but --where needs the study itself", options.file);
  auto plan = TRY(readPlan(options.file, (*buffer)->getBuffer()));
  return ChosenPlans{{std::move(plan), std::nullopt}};
}

}  // namespace expc::cli
