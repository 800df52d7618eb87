#include "compiler/driver/sides.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>

#include <ctime>

#include "compiler/driver/exit_codes.h"

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
  llvm::StringRef folder(text);  // whose name may hold commas, too
  while (!llvm::sys::fs::is_directory(folder) && folder.contains(',')) folder = folder.rsplit(',').first;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(text).drop_front(folder.size()).split(words, ',');
  AskedSide side{folder.str(), {}};
  for (const llvm::StringRef word : llvm::ArrayRef(words).drop_front()) {
    const auto [name, value] = word.split('=');
    if (auto error = take(side.part, text, name, value)) return error;
  }
  return side;
}

}  // namespace

std::optional<Side> Side::open(const std::string& text, const Console& console, int& code) {
  auto asked = parseSide(text);
  if (!asked) {
    code = console.usage(llvm::toString(asked.takeError()));
    return std::nullopt;
  }
  std::vector<std::string> messages;
  auto store = store::Store::openForReading(asked->folder, messages);
  if (!store) {
    code = console.error(store.takeError());
    return std::nullopt;
  }
  for (const std::string& message : messages) console.message(message);
  return Side(text, std::move(*store), std::move(asked->part));
}

llvm::Expected<std::optional<Side::Found>> Side::of(const plan::Plan& plan, const Console& console) {
  auto found = store::loadPart(store_, plan, part_);
  if (!found) return found.takeError();
  if (!*found || (*found)->results.trials.empty()) {
    const auto kept = *found ? (*found)->results.not_counted_reasons : std::vector<std::string>();
    console.error(fmt::format("{} has no results of study {}{}", name_, plan.study,
                              kept.empty() ? "" : " that count; kept are " + llvm::join(kept, "; ")));
    return std::nullopt;
  }
  if (!(*found)->plan)
    console.message(fmt::format("{}: study {} was another one when it was run there; it is judged as it is now", name_,
                                plan.study));
  store::Results& results = (*found)->results;
  analysis::Judgement judgement = analysis::judge((*found)->plan ? *(*found)->plan : plan, results);
  return Found{std::move(results), std::move(judgement)};
}

}  // namespace expc::driver
