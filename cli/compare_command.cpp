// `expc compare`: puts sets of results of one study beside each other. It reads the sides from the command line, opens
// their stores, checks that no two sides are copies of each other, has each side judged, and prints the comparison,
// which runtime/export makes. With --claims it says which conclusions hold on later sides; with --by session it shows
// how metrics developed.

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>

#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/describe/course.h"
#include "runtime/describe/description.h"
#include "runtime/export/sides.h"
#include "runtime/judge/judge.h"
#include "runtime/store/store.h"

namespace expc::cli {
namespace {

/// A side of the comparison: a results folder or a part of it, open for reading.
struct Side {
  /// The words of the command line: DIR or DIR,NAME=VALUE,…
  std::string name;
  store::Part part;
  store::Store store;
};

/// Reads a day such as 2026-11-23 as midnight in UTC, in seconds since 1970; nothing if it is none.
std::optional<double> dayOf(StringRef text) {
  std::tm parts{};
  const std::string day = text.str();
  const char* end = strptime(day.c_str(), "%Y-%m-%d", &parts);
  return end && *end == '\0' ? std::optional<double>(double(timegm(&parts))) : std::nullopt;
}

/// Restricts a part by NAME=VALUE.
Error set(store::Part& part, StringRef name, StringRef value) {
  if (value.empty()) return failure("'{}' has no value", name.str());
  if (name == "host") {
    part.host = value.str();
  } else if (name == "build") {
    part.build = value.str();
  } else if (name == "program") {
    part.program = value.str();
  } else if (name == "run") {
    if (value.getAsInteger(10, part.run.emplace())) return failure("'{}' is not the number of a run", value.str());
  } else if (name == "since" || name == "before") {
    std::optional<double>& day = name == "since" ? part.since : part.before;
    day = dayOf(value);
    if (!day) return failure("'{}' is not a day such as 2026-11-23", value.str());
  } else {
    return failure("unknown part '{}'", name.str());
  }
  return Error::success();
}

/// Reads DIR or DIR,NAME=VALUE,… as a folder and which part of it.
Expected<std::pair<std::string, store::Part>> readSide(StringRef side) {
  // The name of a folder may hold commas, too: take the longest beginning that is a folder.
  StringRef folder = side;
  while (!llvm::sys::fs::is_directory(folder) && folder.contains(',')) folder = folder.rsplit(',').first;
  llvm::SmallVector<StringRef> words;
  side.drop_front(folder.size()).split(words, ',');
  store::Part part;
  for (const StringRef word : ArrayRef(words).drop_front())
    if (auto wrong = set(part, word.split('=').first, word.split('=').second))
      return usage("{}: {}. Use DIR or DIR,NAME=VALUE,… with host, run, build, program, since or before", side.str(),
                   toString(std::move(wrong)));
  return std::pair(folder.str(), std::move(part));
}

/// Trials by what identifies a copy (start, kind, place in the design), with the side that has them.
using Known = std::map<std::tuple<double, plan::TrialKind, plan::Place>, const std::string*>;

/// Adds a side's trials. Fails if an earlier side has one of them: then one side is a copy, a bundle or a merged store
/// of the other, and `then` says why that is an error.
Error add(Known& known, const std::string& side, const std::vector<Trial>& trials, const char* then) {
  for (const Trial& trial : trials) {
    const auto* first = known.try_emplace({trial.started, trial.key->kind, trial.place()}, &side).first->second;
    if (first != &side) return failure("{} and {} contain the same trials: {}", *first, side, then);
  }
  return Error::success();
}

/// Judges a side's results of a study by the plan that its machine ran, or, after saying so, by `plan`. Returns
/// nothing, after saying why, if no trial counts, or if claims are asked for and the side's controls would not be
/// judged.
std::optional<exports::Side> judged(const Side& side, const Plan& plan, bool claims, const Console& console) {
  auto found = store::loadPart(side.store, plan, side.part);
  // The error names why stored trials do not count: usually the study or its data changed.
  if (!found || found->results.trials.empty()) {
    const auto kept = found ? found->results.not_counted_reasons : std::vector<std::string>();
    console.error("{} has no usable results of study {}{}", side.name, plan.study,
                  kept.empty() ? "" : fmt::format(". Stored but ignored: {}", llvm::join(kept, "; ")));
    return std::nullopt;
  }
  // Controls of results measured with another --jobs would not be judged; a claim without its control is no claim.
  if (claims && found->share.value_or(plan.design.share) != plan.design.share) {
    console.error("{}: study {} was {}", side.name, plan.study, store::measuredWithText(*found->share));
    return std::nullopt;
  }
  if (!found->plan)
    console.message("{}: study {} has changed since it was run there; its results are judged by the present version",
                    side.name, plan.study);
  // The plan that was run, if it can still be read, judges the side: it holds the design and criteria of that time.
  const Plan& own = found->plan ? *found->plan : plan;
  // A part can leave out earlier runs on its machine. Verdicts on these were interim analyses, so they count for the
  // confidence of a claim.
  std::optional<judge::Index> with_earlier;
  if (claims && found->with_earlier) with_earlier.emplace(own, *found->with_earlier);
  Conclusions judgement =
      describe::conclude(judge::Index(own, found->results), with_earlier ? &*with_earlier : nullptr);
  return exports::Side{side.name, std::move(found->results), std::move(judgement)};
}

/// Compares one study over all sides. Returns nothing, after saying why, if a side has no results of it.
Expected<std::optional<exports::Document>> compareStudy(const Plan& plan, std::vector<Side>& sides,
                                                        const CompareOptions& options, const Console& console) {
  if (!options.metric.empty() && !plan.findMetric(options.metric))
    return failure("study {} does not measure '{}'", plan.study, options.metric);
  Known known;
  if (options.by_session) {
    std::vector<store::History> histories;
    std::vector<std::string> names;
    for (Side& side : sides) {
      histories.push_back(store::history(side.store, plan, side.part));
      TRY(add(known, side.name, histories.back().trials, "each counts once"));
      names.push_back(side.name);
    }
    return exports::bySession(plan, names, describe::courses(plan, histories, options.metric), options.all);
  }
  std::vector<exports::Side> found;
  for (Side& side : sides) {
    auto results = judged(side, plan, options.claims, console);
    if (!results) return std::nullopt;
    found.push_back(std::move(*results));
    const char* then = options.claims ? "a copy is not a replication" : "nothing can have changed between copies";
    TRY(add(known, side.name, found.back().results.trials, then));
  }
  return options.claims ? exports::conclusions(plan, found) : exports::moves(plan, found, options.margin / 100);
}

/// Prints the comparison in the chosen format; false if it could not be written.
bool print(const exports::Document& document, Format format, const Console& console) {
  if (format == Format::Json) return console.print(base::prettyJson(exports::json(document)) + "\n");
  return console.print(format == Format::Markdown ? exports::markdown(document)
                                                  : exports::text(document, console.width(), console.colourOut()));
}

}  // namespace

Exit compare(const CompareOptions& options, const Console& console) {
  if (!options.by_session && options.sides.size() < 2)
    return usage("name a second results folder to compare with, or use --by session");
  // Two sides give one difference for each cell; of more it would be unclear which is compared with which.
  if (!options.by_session && !options.claims && options.sides.size() > 2)
    return usage("without --claims or --by session, compare takes exactly two sides");
  std::vector<Side> sides;
  // All stores are opened before anything is compiled, so that a misspelt folder is said at once.
  MeasuredOptions last = options;
  for (const std::string& name : options.sides) {
    auto side = TRY(readSide(name));
    last.results = side.first;
    auto store = TRY(openStore(side.first, &console));
    sides.push_back({name, std::move(side.second), std::move(store)});
  }
  const auto plans = TRY(loadMeasured(last, console));
  if (options.format == Format::Json) TRY(oneStudy(last.study, plans.size(), "a document"));
  int code = kSuccess;
  for (const ChosenPlan& one : plans) {
    auto document = TRY(compareStudy(one.plan, sides, options, console));
    if (document && !print(*document, options.format, console)) return kError;
    code = worse(code, document ? document->exit_code : kNothingRan);
  }
  return code;
}

}  // namespace expc::cli
