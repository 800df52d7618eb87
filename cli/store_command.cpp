// `expc store` (verify, compact, merge, export) and `expc extract`: look after stored results. The work is done in
// runtime/store and runtime/engine; this file prints what they did. None of these commands judges anything.

#include "cli/commands.h"
#include "cli/compilation.h"
#include "cli/subcommand.h"
#include "runtime/base/format.h"
#include "runtime/base/text.h"
#include "runtime/engine/extract.h"
#include "runtime/store/maintenance.h"

namespace expc::cli {

namespace {

/// The options of all verbs of `expc store`.
struct StoreOptions {
  std::string results = "results";
  /// `merge`: the results folder to take over; `export`: the file to write.
  std::string other;
};

/// Reads every line of the journals; the exit code says whether any is damaged.
Exit verifyStore(const StoreOptions& options, const Console& console) {
  auto found = TRY(store::verify(options.results));
  console.messages(found.notes);
  for (const std::string& damage : found.damage) console.error(damage);
  const std::string text = fmt::format(
      "{}: {}, {}, {}, {}, {}{}\n", options.results, base::counted(found.journals, "journal"),
      base::counted(found.sessions, "session"), base::counted(found.runs, "run"), base::counted(found.blocks, "block"),
      base::counted(found.trials, "trial"),
      found.damage.empty() ? "; no problems found" : "; " + base::counted(found.damage.size(), "damaged place"));
  return console.finish(text, found.damage.empty() ? kSuccess : kError);
}

/// Rewrites all journals as one.
Exit compactStore(const StoreOptions& options, const Console& console) {
  std::vector<std::string> messages;
  auto done = store::compact(options.results, messages);
  console.messages(messages);
  if (!done) return done.takeError();
  return console.finish(fmt::format("{}: merged {}; {} bytes became {}\n", options.results,
                                    base::counted(done->journals, "journal"), done->bytes_after, done->bytes_before));
}

/// Takes over what another results folder holds; trials that are there already are only counted.
Exit mergeStore(const StoreOptions& options, const Console& console) {
  std::vector<std::string> messages;
  auto merged = store::merge(options.results, options.other, messages);
  console.messages(messages);
  if (!merged) return merged.takeError();
  return console.finish(fmt::format("{}: added {}, {}, {} and {} from {}; {} already present\n", options.results,
                                    base::counted(merged->sessions, "session"), base::counted(merged->runs, "run"),
                                    base::counted(merged->blocks, "block"), base::counted(merged->trials, "trial"),
                                    options.other, base::counted(merged->known, "trial")));
}

/// Writes the store as one SQLite file.
Exit exportStore(const StoreOptions& options, const Console& console) {
  std::vector<std::string> messages;
  Error error = store::exportSql(options.results, options.other, messages);
  console.messages(messages);
  if (error) return error;
  return console.finish(fmt::format("{}\n", options.other));
}

}  // namespace

void addStoreTools(const Commands& to) {
  CLI::App& store = *to.parent.add_subcommand("store", "Maintain a results folder: verify, compact, merge, export");
  store.footer(kPlainExitCodes);
  store.require_subcommand(1);
  // The verbs differ in one argument, so they share one struct and one function that declares them.
  const auto add = [&](const char* name, const char* help, Exit (*run)(const StoreOptions&, const Console&),
                       const char* other, const char* other_help, const char* type) {
    auto [command, options] = Commands{store, to.asked}.add(name, help, run);
    if (other) command.add_option(other, options.other, other_help)->required()->type_name(type);
    command.add_option(other ? "--results" : "--results,folder", options.results, "Results folder")
        ->type_name("DIR")
        ->capture_default_str();
  };
  add("verify", "Check every line of the journals; changes nothing", verifyStore, nullptr, "", "");
  add("compact", "Merge all journals of the folder into one", compactStore, nullptr, "", "");
  add("merge", "Add the results of another folder; a repeated merge adds only what is new", mergeStore, "other",
      "Another results folder", "DIR");
  add("export", "Write the results as one SQLite file; works during a run, too", exportStore, "file",
      "File to write; it must not exist", "FILE");
}

// ---- expc extract

namespace {

/// Returns "1 trial", "2 trials".
std::string trials(unsigned number) { return base::counted(number, "trial"); }

/// Re-reads metrics of one study from the kept output of its commands. Returns kSomeUndecided if some trials could not
/// be read again: their old values no longer count.
Exit extractOne(const Plan& plan, const MeasuredOptions& options, const Console& console) {
  engine::Resources resources;
  TRY(addResources(options.machine, resources));
  auto outcome = TRY(engine::extract(plan, options.results, resources.command_worker));
  console.messages(outcome.messages);
  for (const auto& [why, number] : outcome.refused) console.message("{} could not be re-read: {}", trials(number), why);
  std::string text =
      fmt::format("study {}: re-read {}, {} unchanged", plan.study, trials(outcome.read), outcome.as_before);
  if (outcome.not_kept > 0) text += fmt::format("; {} had no stored output", trials(outcome.not_kept));
  if (!console.print(text + "\n")) return kError;
  return outcome.refused.empty() && outcome.not_kept == 0 ? kSuccess : kSomeUndecided;
}

}  // namespace

Exit extract(const MeasuredOptions& options, const Console& console) {
  const auto plans = TRY(loadMeasured(options, console));
  int code = kSuccess;
  for (const ChosenPlan& one : plans) code = worse(code, console.codeOf(extractOne(one.plan, options, console)));
  return code;
}

}  // namespace expc::cli
