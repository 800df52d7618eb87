#include "runtime/rehearsal/rehearsal.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "runtime/files/files.h"
#include "runtime/plan/name.h"

namespace expc::rehearsal {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

constexpr llvm::StringLiteral kSchema = "expc.rehearsal/1";
constexpr llvm::StringLiteral kOutcomes[] = {"runs", "lacks data", "failed", "does not fit", "not rehearsed"};
/// A thousand points of 64 ranks each take a few megabytes.
constexpr uint64_t kMostBytes = 256u << 20;

Value pointJson(const Point& point) {
  Object estimates;
  for (const auto& [metric, bytes] : point.estimates) estimates[metric] = bytes;
  Object object{{"point", plan::jsonText(point.point)},
                {"label", plan::jsonText(point.label)},
                {"outcome", kOutcomes[static_cast<size_t>(point.outcome)]},
                {"reason", plan::jsonText(point.reason)},
                {"estimates", std::move(estimates)},
                {"cards", Object{{"count", point.cards.count}, {"memory", point.cards.memory}}},
                {"worker_build", plan::jsonText(point.worker_build)},
                {"at", point.at},
                {"seconds", point.seconds},
                {"notes", plan::jsonTexts(point.notes)}};
  if (point.rehearsed) object["rehearsed"] = plan::toJson(*point.rehearsed);
  return object;
}

Cards readCards(plan::JsonErrors& errors, const Value& value, const plan::JsonPath& at) {
  plan::JsonFields in(errors, value, at);
  Cards cards;
  cards.count = in.small("count");
  cards.memory = in.whole("memory");
  in.refuseOthers();
  return cards;
}

Point readPoint(plan::JsonErrors& errors, const Value& value, const plan::JsonPath& at) {
  plan::JsonFields in(errors, value, at);
  Point point;
  point.point = in.string("point");
  point.label = in.string("label");
  point.outcome = in.word<Outcome>("outcome", kOutcomes);
  point.reason = in.string("reason");
  const Value estimates = in.object("estimates");
  const plan::JsonPath estimates_at{&at, "estimates", std::nullopt};
  plan::JsonFields numbers(errors, estimates, estimates_at);
  for (const auto& member : *estimates.getAsObject())
    point.estimates[member.first.str()] = numbers.number(member.first);
  point.cards = readCards(errors, in.object("cards"), plan::JsonPath{&at, "cards", std::nullopt});
  point.worker_build = in.string("worker_build");
  point.at = in.number("at");
  point.seconds = in.number("seconds");
  point.notes = in.strings("notes");
  if (in.has("rehearsed"))
    point.rehearsed =
        plan::rehearsedFromJson(errors, *in.value("rehearsed"), plan::JsonPath{&at, "rehearsed", std::nullopt});
  if (point.rehearsed.has_value() != (point.outcome == Outcome::Runs || point.outcome == Outcome::LacksData))
    in.fail("rehearsed", "belongs to a point that runs or lacks data, and to no other");
  in.refuseOthers();
  return point;
}

llvm::Error unreadable(const std::string& path, std::string why) {
  // Names in the file may hold anything, a terminal's escapes too.
  std::replace_if(why.begin(), why.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return llvm::createStringError(fmt::format("{}: {}; remove it, and `expc rehearse` makes it again", path, why));
}

}  // namespace

std::string_view toString(Outcome outcome) { return kOutcomes[static_cast<size_t>(outcome)]; }

const Point* Study::find(std::string_view point) const {
  const auto found = std::find_if(points.begin(), points.end(), [&](const Point& one) { return one.point == point; });
  return found == points.end() ? nullptr : &*found;
}

void Study::put(Point point) {
  const auto found = std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.point == point.point; });
  if (found == points.end())
    points.push_back(std::move(point));
  else
    *found = std::move(point);
}

Value toJson(const Study& study) {
  Array points;
  for (const Point& point : study.points) points.push_back(pointJson(point));
  return Object{{"schema", kSchema}, {"study", plan::jsonText(study.study)}, {"points", std::move(points)}};
}

llvm::Expected<Study> studyFromJson(const Value& value) {
  plan::JsonErrors errors;
  const plan::JsonPath root;
  plan::JsonFields in(errors, value, root);
  const std::string schema = in.string("schema");
  if (!errors.any() && schema != kSchema) in.fail("schema", fmt::format("expected {}", kSchema.str()));
  Study study;
  study.study = in.string("study");
  std::set<std::string> ids;
  in.each("points", [&](const Value& item, const plan::JsonPath& at) {
    study.points.push_back(readPoint(errors, item, at));
    if (!ids.insert(study.points.back().point).second) errors.add(at, "a second entry of the same point");
  });
  in.refuseOthers();
  if (errors.any()) return errors.take("the rehearsal");
  return study;
}

std::string folderOf(const std::string& results) { return (std::filesystem::path(results) / "rehearsals").string(); }

llvm::Expected<std::string> pathOf(const std::string& results, const std::string& study) {
  const auto why = plan::whyNoName(study);
  if (!why) return (std::filesystem::path(folderOf(results)) / (study + ".json")).string();
  return llvm::createStringError(
      fmt::format("a study called '{}' has no file of rehearsals: its name {}", study, *why));
}

llvm::Expected<Study> read(const std::string& results, const std::string& study) {
  llvm::Expected<std::string> path = pathOf(results, study);
  if (!path) return path.takeError();
  std::error_code unknown;
  if (!std::filesystem::exists(std::filesystem::symlink_status(*path, unknown))) return Study{study, {}};
  auto buffer = files::read(*path, kMostBytes);
  if (!buffer) return unreadable(*path, llvm::toString(buffer.takeError()));
  llvm::Expected<Value> json = plan::parseJson((*buffer)->getBuffer());
  if (!json) return unreadable(*path, llvm::toString(json.takeError()));
  llvm::Expected<Study> found = studyFromJson(*json);
  if (!found) return unreadable(*path, llvm::toString(found.takeError()));
  if (found->study != study) return unreadable(*path, fmt::format("it is of the study '{}'", found->study));
  return found;
}

llvm::Error write(const std::string& results, const Study& study) {
  llvm::Expected<std::string> path = pathOf(results, study.study);
  if (!path) return path.takeError();
  llvm::Error error = files::write(*path, plan::prettyJson(toJson(study)) + "\n");
  if (!error) return error;
  return llvm::createStringError(fmt::format("{}; make the folder writable, or choose another with --results DIR",
                                             llvm::toString(std::move(error))));
}

}  // namespace expc::rehearsal
