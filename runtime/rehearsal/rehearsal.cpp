#include "runtime/rehearsal/rehearsal.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "runtime/files/files.h"
#include "runtime/plan/described.h"
#include "runtime/plan/plan.h"

namespace expc::rehearsal {
namespace {

using llvm::json::Value;
using plan::JsonRecord;

constexpr llvm::StringLiteral kSchema = "expc.rehearsal/1";
constexpr llvm::StringLiteral kOutcomes[] = {"runs", "lacks data", "failed", "does not fit", "not rehearsed"};
/// A thousand points of 64 ranks each take a few megabytes.
constexpr uint64_t kMostBytes = 256u << 20;

void describeCards(JsonRecord& io, Cards& cards) {
  io.field("count", cards.count);
  io.field("memory", cards.memory);
}

void describePoint(JsonRecord& io, Point& point) {
  io.field("point", point.point);
  io.field("label", point.label);
  io.word("outcome", point.outcome, kOutcomes);
  io.field("reason", point.reason);
  io.field("estimates", point.estimates);
  io.object("cards", point.cards, describeCards);
  io.field("worker_build", point.worker_build);
  io.field("at", point.at);
  io.field("seconds", point.seconds);
  io.field("notes", point.notes);
  io.optionalObject("rehearsed", point.rehearsed, plan::kDescribed);
  const bool counted = point.outcome == Outcome::Runs || point.outcome == Outcome::LacksData;
  if (io.reads() && point.rehearsed.has_value() != counted)
    io.fail("rehearsed", "belongs to a point that runs or lacks data, and to no other");
}

void describeStudy(JsonRecord& io, Study& study) {
  std::string schema = kSchema.str();
  io.field("schema", schema);
  if (!io.failed() && schema != kSchema) io.fail("schema", fmt::format("expected {}", kSchema.str()));
  io.field("study", study.study);
  std::set<std::string> ids;
  io.list("points", study.points, [&](JsonRecord& inner, Point& point) {
    describePoint(inner, point);
    if (inner.reads() && !ids.insert(point.point).second) inner.fail("a second entry of the same point");
  });
}

llvm::Error unreadable(const std::string& path, std::string why) {
  // Names in the file may hold anything, a terminal's escapes too.
  std::ranges::replace_if(why, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return llvm::createStringError(fmt::format("{}: {}; remove it, and `expc rehearse` makes it again", path, why));
}

}  // namespace

std::string_view toString(Outcome outcome) { return kOutcomes[static_cast<size_t>(outcome)]; }

const Point* Study::find(std::string_view point) const {
  const auto found = std::ranges::find_if(points, [&](const Point& one) { return one.point == point; });
  return found == points.end() ? nullptr : &*found;
}

void Study::put(Point point) {
  const auto found = std::ranges::find_if(points, [&](const Point& p) { return p.point == point.point; });
  if (found == points.end())
    points.push_back(std::move(point));
  else
    *found = std::move(point);
}

Value toJson(const Study& study) { return JsonRecord::written(study, describeStudy); }

llvm::Expected<Study> studyFromJson(const Value& value) {
  return plan::readRecord<Study>(value, "the rehearsal", describeStudy);
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
  if (!files::isThere(*path)) return Study{study, {}};
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
  llvm::Error error = files::write(*path, plan::prettyJson(toJson(study)) + "\n", files::Links::Refused);
  if (!error) return error;
  return llvm::createStringError(fmt::format("{}; make the folder writable, or choose another with --results DIR",
                                             llvm::toString(std::move(error))));
}

}  // namespace expc::rehearsal
