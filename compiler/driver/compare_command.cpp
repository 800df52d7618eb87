#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>

#include <ctime>

#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/verdicts.h"
#include "runtime/analysis/sides.h"
#include "runtime/export/sides.h"
#include "runtime/plan/json.h"
#include "runtime/store/part.h"

namespace expc::driver {
namespace {

llvm::Error wrongSide(llvm::StringRef side, const std::string& why) {
  return llvm::createStringError(fmt::format(
      "{}: {}; a side is DIR or DIR,NAME=VALUE,… with host, run, build, program, since and before", side.str(), why));
}

/// Midnight in UTC of a day as 2026-11-23.
std::optional<double> dayOf(llvm::StringRef text) {
  std::tm parts{};
  const std::string day = text.str();
  const char* end = strptime(day.c_str(), "%Y-%m-%d", &parts);
  return end && *end == '\0' ? std::optional<double>(static_cast<double>(timegm(&parts))) : std::nullopt;
}

struct AskedSide {
  std::string folder;
  store::Part part;
};

llvm::Error take(store::Part& part, llvm::StringRef side, llvm::StringRef name, llvm::StringRef value) {
  if (value.empty()) return wrongSide(side, fmt::format("'{}' has no value", name.str()));
  if (name == "host") {
    part.host = value.str();
  } else if (name == "build") {
    part.build = value.str();
  } else if (name == "program") {
    part.program = value.str();
  } else if (name == "run") {
    int64_t run = 0;
    if (value.getAsInteger(10, run)) return wrongSide(side, fmt::format("'{}' is no run", value.str()));
    part.run = run;
  } else if (name == "since" || name == "before") {
    const auto day = dayOf(value);
    if (!day) return wrongSide(side, fmt::format("'{}' is no day as 2026-11-23", value.str()));
    (name == "since" ? part.since : part.before) = *day;
  } else {
    return wrongSide(side, fmt::format("there is no '{}'", name.str()));
  }
  return llvm::Error::success();
}

llvm::Expected<AskedSide> parseSide(const std::string& text) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(text).split(words, ',');
  AskedSide side{words[0].str(), {}};
  for (const llvm::StringRef word : llvm::ArrayRef(words).drop_front()) {
    const auto [name, value] = word.split('=');
    if (auto error = take(side.part, text, name, value)) return error;
  }
  return side;
}

/// What one side has of each study; nothing after saying why.
struct OpenSide {
  std::string name;
  AskedSide asked;
  std::optional<store::Store> store;

  bool open(const std::string& text, const Console& console, int& code) {
    name = text;
    auto parsed = parseSide(text);
    if (!parsed) return code = console.usage(llvm::toString(parsed.takeError())), false;
    asked = std::move(*parsed);
    std::vector<std::string> messages;
    auto opened = store::Store::openForReading(asked.folder, messages);
    if (!opened) return code = console.error(opened.takeError()), false;
    for (const std::string& message : messages) console.message(message);
    store = std::move(*opened);
    return true;
  }
};

/// One study on both sides; its exit code.
int compareStudy(const plan::Plan& plan, OpenSide& before, OpenSide& after, const CompareOptions& options,
                 const Console& console) {
  auto one = store::loadPart(*before.store, plan, before.asked.part);
  if (!one) return console.error(one.takeError());
  auto other = store::loadPart(*after.store, plan, after.asked.part);
  if (!other) return console.error(other.takeError());
  for (const auto& [side, found] : {std::pair(&before, &*one), std::pair(&after, &*other)}) {
    if (*found && !(*found)->trials.empty()) continue;
    console.error(fmt::format("{} has no results of study {}", side->name, plan.study));
    return kNothingRan;
  }
  const analysis::Index before_index(plan, **one), after_index(plan, **other);
  const analysis::Judgement before_judged = analysis::judge(before_index), after_judged = analysis::judge(after_index);
  const analysis::Sides sides = analysis::compareSides({before_index, before_judged}, {after_index, after_judged});
  const exports::SidesView view{
      plan, {before.name, **one, before_judged}, {after.name, **other, after_judged}, sides, options.margin / 100};
  std::string text;
  switch (options.format) {
    case CompareFormat::Text:
      text = exports::sidesText(view, console.width(), console.colourOut());
      break;
    case CompareFormat::Markdown:
      text = exports::sidesMarkdown(view);
      break;
    case CompareFormat::Json:
      text = plan::prettyJson(exports::sidesJson(view)) + "\n";
      break;
  }
  if (!console.print(text)) return kError;
  return exports::isWorse(view) ? kSomeFail : kSuccess;
}

}  // namespace

int compare(const CompareOptions& options, const Console& console) {
  OpenSide before, after;
  int code = kSuccess;
  if (!before.open(options.before, console, code) || !after.open(options.after, console, code)) return code;
  const auto plans = loadPlans(options.study, options.machine, std::nullopt, console);
  if (!plans) return kError;
  for (const ChosenPlan& one : *plans) code = worse(code, compareStudy(one.plan, before, after, options, console));
  return code;
}

}  // namespace expc::driver
