// Classifies and sums the activity of a GPU. A profile has millions of records but few names, so
// records are summed as they come, by the raw name; names are demangled only once, in take().

#include "runtime/worker/profile/activity.h"

#include <llvm/Demangle/Demangle.h>

#include <algorithm>
#include <cassert>
#include <cctype>
#include <utility>

#include "runtime/base/llvm.h"

namespace expc::profile {
namespace {

constexpr const char* kFamilyNames[kFamilies] = {
    "compute", "NCCL all-reduce", "NCCL all-gather", "NCCL reduce-scatter", "NCCL broadcast", "NCCL other"};
constexpr const char* kDirectionNames[kDirections] = {"copy HtoD", "copy DtoH", "copy DtoD", "copy HtoH"};
/// Names that a breakdown lists before "others": enough to explain a difference, few enough to
/// store.
constexpr size_t kListedKernels = 40;
constexpr size_t kListedCalls = 40;

}  // namespace

Family familyOf(std::string_view kernel) {
  constexpr std::string_view kKernel = "Kernel_";
  const size_t at = kernel.find("nccl");
  const size_t end = at == std::string_view::npos ? at : kernel.find(kKernel, at);
  if (end == std::string_view::npos) return Family::Compute;
  // Between "nccl" and "Kernel_" NCCL writes Dev, nothing, SymDev or SymkDev, depending on version
  // and memory. Any other text means that the kernel only mentions nccl.
  const std::string_view between = kernel.substr(at, end - at);
  if (!std::ranges::all_of(between, [](unsigned char c) { return std::isalpha(c); })) return Family::Compute;
  const std::string_view rest = kernel.substr(end + kKernel.size());
  if (rest.starts_with("AllReduce")) return Family::AllReduce;
  if (rest.starts_with("AllGather")) return Family::AllGather;
  if (rest.starts_with("ReduceScatter")) return Family::ReduceScatter;
  if (rest.starts_with("Broadcast")) return Family::Broadcast;
  return Family::OtherNccl;
}

std::string_view callName(std::string_view name) {
  StringRef call = name, unversioned = call.rtrim("0123456789");
  // Strip the version first: it stands behind the suffix of the per-thread variants.
  if (unversioned.size() < call.size() && unversioned.consume_back("_v")) call = unversioned;
  if (!call.consume_back("_ptsz")) call.consume_back("_ptds");
  return call;
}

std::string kernelName(std::string_view mangled) {
  const std::string full = llvm::demangle(mangled);
  std::string_view name = full;
  // The name ends at the first template argument or parameter. Either may contain the other's
  // bracket, and an anonymous namespace looks like a parameter.
  std::string out;
  if (name.starts_with("void ")) name.remove_prefix(5);
  for (size_t i = 0; i < name.size(); ++i) {
    constexpr std::string_view kAnonymous = "(anonymous namespace)::";
    if (name.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
      continue;
    }
    if (name[i] == '<' || name[i] == '(') break;
    out += name[i];
  }
  return out.empty() ? full : out;
}

/// Sorting at every record would be slow, and keeping all intervals would take much memory. So
/// intervals are merged whenever their number has doubled.
void BusyTime::add(uint64_t begin, uint64_t end) {
  assert(begin <= end);
  intervals_.emplace_back(begin, end);
  if (intervals_.size() < merge_at_) return;
  merge();
  merge_at_ = std::max<size_t>(1 << 16, intervals_.size() * 2);
}

void BusyTime::merge() {
  std::ranges::sort(intervals_);
  size_t last = 0;
  for (size_t i = 1; i < intervals_.size(); ++i) {
    if (intervals_[i].first <= intervals_[last].second) {
      intervals_[last].second = std::max(intervals_[last].second, intervals_[i].second);
    } else {
      intervals_[++last] = intervals_[i];
    }
  }
  if (!intervals_.empty()) intervals_.resize(last + 1);
}

uint64_t BusyTime::within(uint64_t from, uint64_t to) {
  merge();
  uint64_t total = 0;
  for (const auto& [begin, end] : intervals_) {
    const uint64_t low = std::max(begin, from), high = std::min(end, to);
    if (low < high) total += high - low;
  }
  return total;
}

/// Names are sorted, so all with this prefix stand together.
Amount ActivityTotals::callsThatBegin(std::string_view name) const {
  Amount sum;
  for (auto at = calls.lower_bound(name); at != calls.end() && at->first.starts_with(name); ++at) sum += at->second;
  return sum;
}

Amount ActivityTotals::nccl() const {
  Amount sum;
  for (size_t i = 0; i < kFamilies; ++i)
    if (static_cast<Family>(i) != Family::Compute) sum += families[i];
  return sum;
}

void ActivitySum::add(const Activity& activity) {
  if (activity.end < activity.begin) {
    ++totals_.malformed;
    return;
  }
  // Some records come without times; they count, but cannot make the device busy.
  const bool timed = activity.begin != 0 || activity.end != 0;
  if (!timed) ++totals_.untimed;
  const Amount amount{double(activity.end - activity.begin) * 1e-9, 1, double(activity.bytes)};
  switch (activity.kind) {
    case Activity::Kind::Call: {
      const std::string_view name = callName(activity.name);
      auto at = calls_.find(name);
      if (at == calls_.end()) at = calls_.emplace(std::string(name), Amount{}).first;
      at->second += amount;
      // Calls take the host's time; no device was busy.
      return;
    }
    case Activity::Kind::Kernel: {
      auto at = kernels_.find(activity.name);
      if (at == kernels_.end())
        at = kernels_.emplace(std::string(activity.name), Kernel{familyOf(activity.name), {}}).first;
      at->second.amount += amount;
      break;
    }
    case Activity::Kind::Copy:
      totals_.copies[size_t(activity.direction)] += amount;
      break;
    case Activity::Kind::Fill:
      totals_.fills += amount;
      break;
  }
  if (timed) busy_[activity.device].add(activity.begin, activity.end);
}

ActivityTotals ActivitySum::take(uint64_t begin, uint64_t end) {
  ActivityTotals totals = std::exchange(totals_, {});
  totals.calls = std::exchange(calls_, {});
  for (const auto& [name, kernel] : kernels_) {
    totals.families[size_t(kernel.family)] += kernel.amount;
    totals.kernels[kernelName(name)] += kernel.amount;
  }
  kernels_.clear();
  // The mean over the devices compares with the wall time.
  for (auto& [device, busy] : busy_)
    totals.busy_seconds += double(busy.within(begin, end)) * 1e-9 / double(busy_.size());
  busy_.clear();
  return totals;
}

/// Fills the three views in the order in which a reader asks: calls of the host, work of the
/// device, single kernels.
void addActivity(Amounts& breakdown, const ActivityTotals& totals, double wall_seconds) {
  addView(breakdown, "api", totals.calls, kListedCalls);
  Amounts device;
  for (size_t i = 0; i < kFamilies; ++i)
    if (totals.families[i].count > 0) device[kFamilyNames[i]] = totals.families[i];
  for (size_t i = 0; i < kDirections; ++i)
    if (totals.copies[i].count > 0) device[kDirectionNames[i]] = totals.copies[i];
  if (totals.fills.count > 0) device["fill"] = totals.fills;
  device["idle"] = {std::max(0.0, wall_seconds - totals.busy_seconds), 0, 0};
  addView(breakdown, "device", device);
  addView(breakdown, "kernel", totals.kernels, kListedKernels);
}

}  // namespace expc::profile
