// Describes the file once for reading and writing (JsonRecord), and computes the least time of a step from
// what a rehearsal counted (a roofline: each resource alone, the largest wins).

#include "runtime/rehearsal/rehearsal.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/base/printable.h"

namespace expc::rehearsal {
namespace {
using json::Value;

constexpr llvm::StringLiteral kSchema = "expc.rehearsal/1";
constexpr base::Word<Outcome> kOutcomes[] = {{"runs", Outcome::Runs},
                                             {"lacks data", Outcome::LacksData},
                                             {"failed", Outcome::Failed},
                                             {"does not fit", Outcome::DoesNotFit},
                                             {"not rehearsed", Outcome::NotRehearsed}};
/// The most bytes that are read; a thousand points of 64 ranks take a few megabytes.
constexpr uint64_t kMostBytes = 256u << 20;

}  // namespace

static void describe(JsonRecord& io, Cards& cards) { io.required(EXPC_NAMED(cards, count, memory)); }

static void describe(JsonRecord& io, Point& point) {
  io.required(EXPC_NAMED(point, point, label));
  io.word("outcome", point.outcome, kOutcomes);
  io.required(EXPC_NAMED(point, reason, estimates, cards, worker_build, at, seconds));
  plan::describeNotes(io, "notes", point.notes);
  io.optional(EXPC_NAMED(point, rehearsed));
  // Readers use `rehearsed` of such points without asking, so a file without it must not pass.
  const bool counted = point.outcome == Outcome::Runs || point.outcome == Outcome::LacksData;
  if (io.reads() && point.rehearsed.has_value() != counted)
    io.fail("rehearsed", "is allowed only for a point that runs or whose data is missing");
}

static void describe(JsonRecord& io, Study& study) {
  std::string schema = kSchema.str();
  io.field("schema", schema);
  if (!io.failed() && schema != kSchema) io.fail("schema", fmt::format("expected {}", kSchema.str()));
  io.field("study", study.study);
  std::set<std::string> ids;
  io.list("points", study.points, [&](JsonRecord& inner, Point& point) {
    describe(inner, point);
    if (inner.reads() && !ids.insert(point.point).second) inner.fail("a second entry of the same point");
  });
}

namespace {

/// The error about a file that cannot be read, with the way out: rehearsals are cheap to repeat.
Error unreadable(const std::string& path, const std::string& why) {
  // Names in the file may hold anything, also a terminal's escapes.
  return failure("{}: {}; remove it, and `expc rehearse` makes it again", path, base::printable(why));
}

constexpr std::string_view kLimits[] = {"products", "memory", "link", "host link"};

/// Seconds of the operations whose type has a rate; nothing if none has. Types run one after another on a device.
std::optional<double> productSeconds(const protocol::RehearsedRank& rank, double devices, const plan::Rates& rates) {
  std::optional<double> seconds;
  for (const auto& [type, operations] : rank.operations)
    if (const auto* rate = entryOf(rates.products, type))
      seconds = seconds.value_or(0) + operations / (*rate * devices);
  return seconds;
}

/// Least number of bytes that cross a rank's link in one direction.
double linkBytes(const protocol::RehearsedRank& rank, double ranks) {
  double bytes = 0;
  for (const auto& [name, traffic] : rank.collectives) {
    // With N ranks, a rank already has 1/N of what these collectives distribute.
    const bool divided = name == "all_gather" || name == "reduce_scatter" || name == "all_to_all";
    bytes += double(traffic.bytes) * (divided ? (ranks - 1) / ranks : 1);
  }
  return bytes;
}

/// The larger of two bounds.
LeastTime larger(LeastTime best, std::optional<double> seconds, Limit limit) {
  return seconds && *seconds > best.seconds ? LeastTime{*seconds, limit} : best;
}

/// Seconds that an amount takes at a rate; nothing if the rate is unknown.
std::optional<double> over(double amount, const std::optional<double>& rate) {
  return rate ? std::optional(amount / *rate) : std::nullopt;
}

}  // namespace

std::string_view toString(Outcome outcome) { return base::wordOf(kOutcomes, outcome); }

const Point* Study::find(std::string_view point) const {
  const auto found = std::ranges::find(points, point, &Point::point);
  return found == points.end() ? nullptr : &*found;
}

void Study::put(Point point) {
  const auto found = std::ranges::find(points, point.point, &Point::point);
  if (found == points.end())
    points.push_back(std::move(point));
  else
    *found = std::move(point);
}

Value toJson(const Study& study) { return base::written(study); }

Expected<Study> studyFromJson(const Value& value) { return base::readRecord<Study>(value, "the rehearsal"); }

std::string folderOf(const std::string& results) { return (std::filesystem::path(results) / "rehearsals").string(); }

Expected<std::string> pathOf(const std::string& results, const std::string& study) {
  const auto why = plan::whyNoName(study);
  if (!why) return (std::filesystem::path(folderOf(results)) / (study + ".json")).string();
  return failure("a study called '{}' has no file of rehearsals: its name {}", study, *why);
}

Expected<Study> read(const std::string& results, const std::string& study) {
  std::string path = TRY(pathOf(results, study));
  if (!files::isThere(path)) return Study{study, {}};
  auto buffer = files::read(path, kMostBytes);
  if (!buffer) return unreadable(path, toString(buffer.takeError()));
  Expected<Value> json = parseJson((*buffer)->getBuffer());
  if (!json) return unreadable(path, toString(json.takeError()));
  Expected<Study> found = studyFromJson(*json);
  if (!found) return unreadable(path, toString(found.takeError()));
  // A file that was copied under another name must not count for that study.
  if (found->study != study) return unreadable(path, fmt::format("it is of the study '{}'", found->study));
  return found;
}

Error write(const std::string& results, const Study& study) {
  std::string path = TRY(pathOf(results, study.study));
  Error error = files::write(path, base::prettyJson(toJson(study)) + "\n", files::Links::Refused);
  if (!error) return error;
  return failure("{}; make the folder writable, or choose another with --results DIR", std::move(error));
}

std::string_view toString(Limit limit) { return kLimits[size_t(limit)]; }

std::optional<LeastTime> leastStep(const protocol::Rehearsed& rehearsed, unsigned devices, const plan::Rates& rates) {
  const auto ranks = double(rehearsed.ranks.size());
  const double own = std::max(1.0, devices / ranks);  // devices of a rank: dp drives all of them from one
  LeastTime least;
  for (const protocol::RehearsedRank& rank : rehearsed.ranks) {
    least = larger(least, productSeconds(rank, own, rates), Limit::Products);
    least = larger(least, over(rank.memory_bytes / own, rates.memory), Limit::Memory);
    if (ranks > 1) least = larger(least, over(linkBytes(rank, ranks), rates.link), Limit::Link);
    // Both directions of the host's link work at once, so the larger one bounds.
    const auto crossing = double(std::max(rank.to_device.bytes, rank.from_device.bytes));
    least = larger(least, over(crossing / own, rates.host_link), Limit::HostLink);
  }
  if (least.seconds == 0) return std::nullopt;
  // The rehearsal counted all its steps together.
  least.seconds /= rehearsed.steps;
  return least;
}

/// The share of an epoch's steps that a quality trial takes at least: it may hold out a tenth of the rows.
constexpr double kTrained = 0.9;

std::optional<double> leastDeviceSeconds(const Plan& plan, const Study& study) {
  std::optional<double> total;
  for (const plan::Point& point : plan.points) {
    const Point* seen = study.find(point.id);
    if (!seen || !seen->rehearsed || !point.startable()) continue;
    const unsigned devices = plan::devicesOf(point);
    const auto least = leastStep(*seen->rehearsed, devices, plan.rates);
    if (!least) continue;
    for (const KindDesign& kind : plan.design.kinds) {
      const auto epochs = kind.settings.getNumber("epochs");
      if (epochs && (seen->outcome != Outcome::Runs || seen->rehearsed->epoch_steps == 0)) continue;
      const double each =
          epochs ? std::floor(*epochs * kTrained * double(seen->rehearsed->epoch_steps))
                 : kind.settings.getNumber("steps").value_or(0) + kind.settings.getNumber("warmup").value_or(0);
      total = total.value_or(0) + least->seconds * each * kind.repeat * devices;
    }
  }
  return total;
}

}  // namespace expc::rehearsal
