#include "runtime/describe/times.h"

#include <map>
#include <string>

#include "runtime/base/entry.h"

namespace expc::describe {
namespace {

using Published = std::map<std::string, double>;  // by metric

/// Returns the published time of a step at a point, from a time or from a rate of images.
std::optional<double> stepSeconds(const Point& point, const Published& published) {
  for (const char* name : {"iteration_time", "step_time"})
    if (const auto seconds = valueIn(published, name)) return seconds;
  const auto rate = valueIn(published, "images_per_s");
  const auto batch = point.parameters.getNumber("batch");
  return rate && batch ? std::optional(*batch * plan::devicesOf(point) / *rate) : std::nullopt;
}

std::optional<double> trialSeconds(const Point& point, const Published& published, const json::Object& settings) {
  const auto step = stepSeconds(point, published), epoch = valueIn(published, "epoch_time");
  const double warmup = settings.getNumber("warmup").value_or(0);
  if (const auto steps = settings.getNumber("steps"))
    return step ? std::optional((*steps + warmup) * *step) : std::nullopt;
  const auto epochs = settings.getNumber("epochs");
  return epochs && epoch ? std::optional(*epochs * *epoch + warmup * step.value_or(0)) : std::nullopt;
}

}  // namespace

std::optional<PublishedTime> publishedTime(const Plan& plan) {
  std::map<std::string, Published> published;
  for (const plan::Reference& reference : plan.references)
    for (const plan::Reference::Value& value : reference.values) published[value.point][value.metric] = value.value;
  PublishedTime time;
  for (const Point& point : plan.points) {
    // Points that are not started take no time.
    if (!point.startable()) continue;
    for (const KindDesign& kind : plan.design.kinds) {
      ++time.of;
      const auto seconds =
          kind.takes_seconds ? kind.takes_seconds : trialSeconds(point, published[point.id], kind.settings);
      time.stated |= kind.takes_seconds.has_value();
      if (!seconds) continue;
      ++time.known;
      time.seconds += *seconds * kind.repeat;
      time.device_seconds += *seconds * kind.repeat * plan::devicesOf(point);
    }
  }
  return time.known > 0 ? std::optional(time) : std::nullopt;
}

double largerBudget(const Plan& plan, const Judgement& judgement, double more) {
  constexpr double kRoom = 1.5;
  const double needed = judgement.spent_seconds + kRoom * more;
  return plan.design.budget_seconds && needed >= *plan.design.budget_seconds ? needed : 0;
}

}  // namespace expc::describe
