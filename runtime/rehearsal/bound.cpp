#include "runtime/rehearsal/bound.h"

#include <algorithm>

namespace expc::rehearsal {
namespace {

constexpr std::string_view kLimits[] = {"products", "memory", "link", "host link"};

/// Seconds of the operations whose type has a rate; nothing if none has.
std::optional<double> productSeconds(const plan::RehearsedRank& rank, double devices, const plan::Rates& rates) {
  std::optional<double> seconds;
  for (const auto& [type, operations] : rank.operations)
    if (const auto rate = rates.products.find(type); rate != rates.products.end())
      seconds = seconds.value_or(0) + operations / (rate->second * devices);
  return seconds;
}

/// Bytes that cross a rank's link in one direction at least.
double linkBytes(const plan::RehearsedRank& rank, double ranks) {
  double bytes = 0;
  for (const auto& [name, traffic] : rank.collectives) {
    const bool divided = name == "all_gather" || name == "reduce_scatter" || name == "all_to_all";
    bytes += static_cast<double>(traffic.bytes) * (divided ? (ranks - 1) / ranks : 1);
  }
  return bytes;
}

LeastTime larger(LeastTime best, std::optional<double> seconds, Limit limit) {
  return seconds && *seconds > best.seconds ? LeastTime{*seconds, limit} : best;
}

std::optional<double> over(double amount, const std::optional<double>& rate) {
  return rate ? std::optional(amount / *rate) : std::nullopt;
}

}  // namespace

std::string_view toString(Limit limit) { return kLimits[static_cast<size_t>(limit)]; }

std::optional<LeastTime> leastStep(const plan::Rehearsed& rehearsed, unsigned devices, const plan::Rates& rates) {
  const auto ranks = static_cast<double>(rehearsed.ranks.size());
  const double own = std::max(1.0, devices / ranks);  // devices of a rank: dp drives all of them from one
  LeastTime least;
  for (const plan::RehearsedRank& rank : rehearsed.ranks) {
    least = larger(least, productSeconds(rank, own, rates), Limit::Products);
    least = larger(least, over(rank.memory_bytes / own, rates.memory), Limit::Memory);
    if (ranks > 1) least = larger(least, over(linkBytes(rank, ranks), rates.link), Limit::Link);
    const auto crossing = static_cast<double>(std::max(rank.to_device.bytes, rank.from_device.bytes));
    least = larger(least, over(crossing / own, rates.host_link), Limit::HostLink);
  }
  if (least.seconds == 0) return std::nullopt;
  least.seconds /= rehearsed.steps;
  return least;
}

std::optional<double> leastDeviceSeconds(const plan::Plan& plan, const Study& study) {
  std::optional<double> total;
  for (const plan::Point& point : plan.points) {
    const Point* seen = study.find(point.id);
    if (!seen || !seen->rehearsed || !point.startable()) continue;
    const unsigned devices = plan::devicesOf(point);
    const auto least = leastStep(*seen->rehearsed, devices, plan.rates);
    if (!least) continue;
    for (const plan::KindDesign& kind : plan.design.kinds) {
      const auto steps = kind.settings.getNumber("steps");
      if (!steps) continue;  // epochs: how many steps they have is the data's affair
      const double each = *steps + kind.settings.getNumber("warmup").value_or(0);
      total = total.value_or(0) + least->seconds * each * kind.repeat * devices;
    }
  }
  return total;
}

}  // namespace expc::rehearsal
