#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "runtime/validity/doctor.h"
#include "runtime/validity/gate.h"
#include "runtime/validity/host.h"

namespace expc::validity {
namespace {

using Weight = Finding::Weight;

std::vector<Finding> ofCard(const machine::Gpu& gpu, const CardState& state, const CardSettings& settings) {
  const std::string subject = fmt::format("GPU {}", gpu.index);
  std::vector<Finding> findings;
  const auto add = [&](Weight weight, std::string what, std::string why, std::string mend) {
    findings.push_back({weight, subject, std::move(what), std::move(why), std::move(mend)});
  };
  if (!state.processes.empty()) {
    std::vector<std::string> names;
    for (const int pid : state.processes) names.push_back(processText(pid));
    add(Weight::Spoils, fmt::format("is used by {}", fmt::join(names, ", ")),
        "they share its cores and its memory with every trial", "end them, or choose other cards with --devices");
  }
  if (state.reasons & kThrottles)
    add(Weight::Spoils, fmt::format("is slowed down ({}, {} °C)", throttleText(state.reasons), state.celsius),
        "it works at a lower clock, for as long as the reason lasts", "mend its cooling or its power supply");
  if (state.ecc_errors.value_or(0) > 0)
    add(Weight::Spoils, fmt::format("had {} memory errors that could not be corrected", *state.ecc_errors),
        "what it computes may be wrong", fmt::format("sudo nvidia-smi -i {} -r, and have it replaced", gpu.index));
  if (settings.persistence == false)
    add(Weight::Note, "leaves the driver's state when nobody uses it (persistence is off)",
        "each first program wakes it up, and settings such as locked clocks are lost",
        fmt::format("sudo nvidia-smi -i {} -pm 1", gpu.index));
  if (settings.power_limit && settings.power_default && *settings.power_limit < *settings.power_default)
    add(Weight::Note,
        fmt::format("may draw {:.0f} W, and could {:.0f} W", *settings.power_limit, *settings.power_default),
        "under load its clock follows its power, and so its heat",
        fmt::format("sudo nvidia-smi -i {} -pl {:.0f}", gpu.index, *settings.power_default));
  if (findings.empty()) add(Weight::Fine, fmt::format("is free and cool ({} °C)", state.celsius), "", "");
  return findings;
}

}  // namespace

std::vector<Finding> examineCards(const machine::Machine& machine, const Cards& cards) {
  std::vector<Finding> findings;
  for (const std::string& note : machine.notes)
    findings.push_back({Weight::Note, "machine", note, "what cannot be found out is not looked at", ""});
  for (const machine::Gpu& gpu : machine.gpus) {
    const auto state = cards.look(gpu.index);
    if (!state) {
      findings.push_back({Weight::Spoils, fmt::format("GPU {}", gpu.index), "does not answer",
                          "the driver has lost it, or it may not be asked here", "look into `dmesg | grep -i nvrm`"});
      continue;
    }
    const std::vector<Finding> more = ofCard(gpu, *state, cards.settings(gpu.index).value_or(CardSettings{}));
    findings.insert(findings.end(), more.begin(), more.end());
  }
  return findings;
}

}  // namespace expc::validity
