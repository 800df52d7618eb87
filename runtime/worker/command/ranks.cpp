#include "runtime/worker/command/ranks.h"

#include <llvm/Support/JSON.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <vector>

#include "runtime/base/entry.h"
#include "runtime/base/files/files.h"
#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/plan/command.h"
#include "runtime/plan/trial_report.h"
#include "runtime/worker/command/readers.h"

namespace expc::command {
namespace {

using json::Object;

constexpr useconds_t kLook = 5000;  // microseconds between two looks for the end of a rank

/// The end of a rank: its trial, and the measurements of its process.
struct RankEnd {
  std::string trial;
  ProgramEnd end;
};
constexpr auto kRankEnd = [](JsonRecord& io, RankEnd& rank) {
  io.required("trial", rank.trial, "began", rank.end.began_seconds, "wall", rank.end.wall_seconds, "cpu_time",
              rank.end.cpu_seconds, "peak", rank.end.peak_bytes, "least_peak", rank.end.least_peak);
};

std::string endOf(const std::string& folder, unsigned rank) { return plan::outputOf(folder, "ended.txt", rank); }

/// Waits for what a rank leaves of this trial. The engine gives the folder of outputs from trial to trial, so a file of
/// an earlier one may be there. A rank that never ends is ended with the trial.
Expected<ProgramEnd> leftBy(const std::string& folder, unsigned rank, const std::string& trial) {
  const std::string path = endOf(folder, rank);
  while (true) {
    while (access(path.c_str(), F_OK) != 0) usleep(kLook);
    auto text = TRY(files::read(path));
    auto value = TRY(parseJson(text->getBuffer()));
    auto left = TRY(base::readRecord<RankEnd>(value, path, kRankEnd));
    if (left.trial == trial) return left.end;
    usleep(kLook);
  }
}

/// The values that every rank reported as a number, by name, in the order of ranks.
std::map<std::string, std::vector<double>> numbersOf(const std::vector<Object>& ranks) {
  std::map<std::string, std::vector<double>> numbers;
  for (const auto& [name, value] : ranks.front()) {
    std::vector<double> all;
    for (const Object& rank : ranks)
      if (const auto number = rank.getNumber(name)) all.push_back(*number);
    if (all.size() == ranks.size()) numbers[name.str()] = std::move(all);
  }
  return numbers;
}

}  // namespace

Error joinRanks(const std::string& folder) {
  const std::string path = folder + "/" + plan::kTrialFile;
  auto report = lastObject(path);
  Object* last = report ? report->getObject("expc_last") : nullptr;
  if (!last) return Error::success();
  std::vector<Object> ranks{std::move(*last)};
  while (auto other = lastObject(folder + "/" + plan::trialFileOf(ranks.size()))) ranks.push_back(std::move(*other));
  const auto numbers = numbersOf(ranks);
  Object joined;
  json::Array names;
  if (const auto* own = report->getArray("expc")) names = *own;
  for (const char* peak : {"device_memory_peak", "device_memory_allocated_peak"})
    if (const auto* found = entryOf(numbers, peak)) joined[peak] = std::ranges::max(*found);
  if (const auto* times = entryOf(numbers, "step_time")) {
    const auto [least, most] = std::ranges::minmax(*times);
    joined["step_time_slowest"] = most;
    joined["step_time_spread"] = most > 0 ? (most - least) / most : 0;
    for (const char* name : {"step_time_slowest", "step_time_spread"}) names.emplace_back(name);
  }
  std::string text = (*files::read(path))->getBuffer().str();
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    Object line;
    for (const auto& [name, values] : numbers) line[name + "_by_rank"] = values[rank];
    text += canonicalJson(std::move(line)) + '\n';
  }
  for (const auto& [name, values] : numbers) names.push_back(name + "_by_rank");
  joined["expc"] = std::move(names);
  return files::write(path, text + canonicalJson(std::move(joined)) + '\n', files::Links::Refused);
}

Error leaveEnd(const std::string& folder, unsigned rank, const std::string& trial, const ProgramEnd& end) {
  RankEnd left{trial, end};
  return files::write(endOf(folder, rank), canonicalJson(JsonRecord::written(left, kRankEnd)), files::Links::Refused);
}

Error joinEnds(const std::string& folder, unsigned ranks, unsigned each, const std::string& trial, ProgramEnd& end) {
  double longest = 0, first = end.began_seconds, last = first + end.wall_seconds;
  for (unsigned rank = 1; rank < ranks; ++rank) {
    auto other = TRY(leftBy(folder, rank, trial));
    if (rank % std::max(each, 1u) == 0) {  // the first of a node
      longest = std::max(longest, last - first);
      first = last = other.began_seconds;
    }
    first = std::min(first, other.began_seconds);
    last = std::max(last, other.began_seconds + other.wall_seconds);
    end.cpu_seconds += other.cpu_seconds;
    if (other.peak_bytes <= end.peak_bytes) continue;
    end.peak_bytes = other.peak_bytes;
    end.least_peak = other.least_peak;
  }
  end.wall_seconds = std::max(longest, last - first);
  return Error::success();
}

}  // namespace expc::command
