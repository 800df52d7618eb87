#include <fmt/format.h>
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
#include "runtime/analysis/course.h"
#include "runtime/base/json.h"
#include "runtime/export/sides.h"
#include "runtime/store/store.h"

namespace expc::cli {
namespace {

/// A results folder, or a part of it, open for reading.
struct Side {
  std::string name;  // as the command line has it: DIR or DIR,NAME=VALUE,…
  store::Part part;
  store::Store store;
};

/// Midnight in UTC of a day as 2026-11-23.
std::optional<double> dayOf(llvm::StringRef text) {
  std::tm parts{};
  const std::string day = text.str();
  const char* end = strptime(day.c_str(), "%Y-%m-%d", &parts);
  return end && *end == '\0' ? std::optional<double>(static_cast<double>(timegm(&parts))) : std::nullopt;
}

/// Sets what NAME=VALUE says of a part; why it says nothing, or "".
std::string set(store::Part& part, llvm::StringRef name, llvm::StringRef value) {
  if (value.empty()) return fmt::format("'{}' has no value", name.str());
  if (name == "host") {
    part.host = value.str();
  } else if (name == "build") {
    part.build = value.str();
  } else if (name == "program") {
    part.program = value.str();
  } else if (name == "run") {
    if (value.getAsInteger(10, part.run.emplace())) return fmt::format("'{}' is no run", value.str());
  } else if (name == "since" || name == "before") {
    std::optional<double>& day = name == "since" ? part.since : part.before;
    day = dayOf(value);
    if (!day) return fmt::format("'{}' is no day as 2026-11-23", value.str());
  } else {
    return fmt::format("there is no '{}'", name.str());
  }
  return "";
}

/// DIR or DIR,NAME=VALUE,… as a folder and which part of it.
llvm::Expected<std::pair<std::string, store::Part>> readSide(llvm::StringRef side) {
  llvm::StringRef folder = side;  // whose name may hold commas, too
  while (!llvm::sys::fs::is_directory(folder) && folder.contains(',')) folder = folder.rsplit(',').first;
  llvm::SmallVector<llvm::StringRef> words;
  side.drop_front(folder.size()).split(words, ',');
  store::Part part;
  for (const llvm::StringRef word : llvm::ArrayRef(words).drop_front())
    if (const std::string wrong = set(part, word.split('=').first, word.split('=').second); !wrong.empty())
      return llvm::createStringError(
          fmt::format("{}: {}; a side is DIR or DIR,NAME=VALUE,… with host, run, build, program, since and before",
                      side.str(), wrong));
  return std::pair(folder.str(), std::move(part));
}

/// Trials by what they share with a copy, and the side that has them.
using Known = std::map<std::tuple<double, plan::TrialKind, plan::Place>, const std::string*>;

/// An error where a side has trials of one that was added before: one is a copy, a bundle or a merged store of the
/// other then; `then` says why that is an error.
llvm::Error add(Known& known, const std::string& side, const std::vector<store::Trial>& trials, const char* then) {
  for (const store::Trial& trial : trials) {
    const auto* first = known.try_emplace({trial.started, trial.key->kind, trial.place()}, &side).first->second;
    if (first != &side)
      return llvm::createStringError(fmt::format("{} and {} hold the same trials: {}", *first, side, then));
  }
  return llvm::Error::success();
}

/// A side's results of a study, judged by the plan of its machine, or, after saying so, by `plan`. Nothing, after
/// saying why, where no trial counts, or where a claim is asked about and its control would not be judged.
std::optional<exports::Side> judged(const Side& side, const plan::Plan& plan, bool claims, const Console& console) {
  auto found = store::loadPart(side.store, plan, side.part);
  if (!found || found->results.trials.empty()) {
    const auto kept = found ? found->results.not_counted_reasons : std::vector<std::string>();
    console.error(fmt::format("{} has no results of study {}{}", side.name, plan.study,
                              kept.empty() ? "" : " that count; kept are " + llvm::join(kept, "; ")));
    return std::nullopt;
  }
  if (claims && found->share.value_or(plan.design.share) != plan.design.share) {
    console.error(fmt::format("{}: study {} was {}", side.name, plan.study, store::measuredWithText(*found->share)));
    return std::nullopt;
  }
  if (!found->plan)
    console.message(
        fmt::format("{}: study {} has changed since it was run there; its results are judged by the present version",
                    side.name, plan.study));
  const plan::Plan& own = found->plan ? *found->plan : plan;
  std::optional<analysis::Index> with_earlier;
  if (claims && found->with_earlier) with_earlier.emplace(own, *found->with_earlier);
  analysis::Judgement judgement =
      analysis::judge(analysis::Index(own, found->results), with_earlier ? &*with_earlier : nullptr);
  return exports::Side{side.name, std::move(found->results), std::move(judgement)};
}

/// The comparison of one study; nothing, after saying why, where a side has no results of it.
llvm::Expected<std::optional<exports::Document>> compareStudy(const plan::Plan& plan, std::vector<Side>& sides,
                                                              const CompareOptions& options, const Console& console) {
  if (!options.metric.empty() && !plan.findMetric(options.metric))
    return llvm::createStringError(fmt::format("study {} measures no '{}'", plan.study, options.metric));
  Known known;
  if (options.by_session) {
    std::vector<store::History> histories;
    std::vector<std::string> names;
    for (Side& side : sides) {
      histories.push_back(store::history(side.store, plan, side.part));
      if (auto error = add(known, side.name, histories.back().trials, "each counts once")) return error;
      names.push_back(side.name);
    }
    return exports::bySession(plan, names, analysis::courses(plan, histories, options.metric), options.all);
  }
  std::vector<exports::Side> found;
  for (Side& side : sides) {
    auto results = judged(side, plan, options.claims, console);
    if (!results) return std::nullopt;
    found.push_back(std::move(*results));
    const char* then = options.claims ? "a copy replicates nothing" : "nothing can have moved between copies";
    if (auto error = add(known, side.name, found.back().results.trials, then)) return error;
  }
  return options.claims ? exports::conclusions(plan, found) : exports::moves(plan, found, options.margin / 100);
}

bool print(const exports::Document& document, Format format, const Console& console) {
  if (format == Format::Json) return console.print(base::prettyJson(exports::json(document)) + "\n");
  return console.print(format == Format::Markdown ? exports::markdown(document)
                                                  : exports::text(document, console.width(), console.colourOut()));
}

}  // namespace

int compare(const CompareOptions& options, const Console& console) {
  if (!options.by_session && options.sides.size() < 2)
    return console.usage("one side has nothing to be compared with: name another, or say --by session");
  if (!options.by_session && !options.claims && options.sides.size() > 2)
    return console.usage("what moved is said of two sides; more go with --claims or --by session");
  std::vector<Side> sides;
  MeasuredOptions last = options;
  for (const std::string& name : options.sides) {
    auto side = readSide(name);
    if (!side) return console.usage(llvm::toString(side.takeError()));
    last.results = side->first;
    auto store = openStore(side->first, &console);
    if (!store) return console.error(store.takeError());
    sides.push_back({name, std::move(side->second), std::move(*store)});
  }
  const auto plans = loadMeasured(last, console);
  if (!plans) return plans.code;
  if (const std::string why = tooManyStudies(last.study, plans->size(), "a document");
      options.format == Format::Json && !why.empty())
    return console.usage(why);
  int code = kSuccess;
  for (const ChosenPlan& one : *plans) {
    auto document = compareStudy(one.plan, sides, options, console);
    if (!document) return console.error(document.takeError());
    if (*document && !print(**document, options.format, console)) return kError;
    code = worse(code, *document ? (*document)->exit_code : kNothingRan);
  }
  return code;
}

}  // namespace expc::cli
