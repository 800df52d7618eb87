// `expc doctor`: checks this machine for sources of noise and suggests fixes. The checks are runtime/validity; this
// file collects their findings on the host, the cards and the results folder, and prints them. The exit code is kError
// if any finding would spoil a measurement.

#include <llvm/Support/JSON.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "runtime/base/format.h"
#include "runtime/machine/machine.h"
#include "runtime/machine/probe.h"
#include "runtime/validity/doctor.h"

namespace expc::cli {
namespace {

using validity::Finding;

/// The word for a finding's weight in JSON.
const char* wordOf(Finding::Weight weight) {
  return weight == Finding::Weight::Fine ? "fine" : weight == Finding::Weight::Note ? "note" : "spoils";
}

/// Returns the findings as text: one each, with reason and fix below it.
std::string textOf(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    const char* word = finding.weight == Finding::Weight::Spoils ? "PROBLEM" : wordOf(finding.weight);
    text += fmt::format("{:<8} {}: {}\n", word, finding.subject, finding.what);
    if (!finding.why.empty()) text += fmt::format("         effect: {}\n", finding.why);
    if (!finding.mend.empty()) text += fmt::format("         fix: {}\n", finding.mend);
  }
  return text;
}

/// Returns the document "expc.doctor/1" with the machine and the findings.
std::string jsonOf(const Machine& machine, const std::vector<Finding>& findings) {
  json::Array array;
  for (const Finding& finding : findings)
    array.push_back(json::Object{{"weight", wordOf(finding.weight)},
                                 {"subject", jsonText(finding.subject)},
                                 {"what", jsonText(finding.what)},
                                 {"why", jsonText(finding.why)},
                                 {"mend", jsonText(finding.mend)}});
  return base::prettyJson(
      json::Object{{"schema", "expc.doctor/1"}, {"machine", base::written(machine)}, {"findings", std::move(array)}});
}

}  // namespace

Exit doctor(const MeasuredOptions& options, const Console& console) {
  auto null_gpus = TRY(nullGpusOf(options.machine));
  const Machine machine = machine::probe(null_gpus);
  std::vector<Finding> findings = validity::examineHost(machine);
  const auto add = [&](std::vector<Finding> more) { findings.insert(findings.end(), more.begin(), more.end()); };
  add(validity::examineCards(machine, validity::Cards(machine.nvml_library)));
  add(validity::examineFolder(options.results));
  const bool printed =
      console.print(options.format == Format::Json ? jsonOf(machine, findings) + "\n" : textOf(findings));
  const bool spoilt =
      std::ranges::any_of(findings, [](const Finding& one) { return one.weight == Finding::Weight::Spoils; });
  return printed && !spoilt ? kSuccess : kError;
}

}  // namespace expc::cli
