// `expc doctor`: what on this machine would spoil a measurement.

#include <fmt/format.h>
#include <llvm/Support/JSON.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "runtime/machine/machine.h"
#include "runtime/validity/doctor.h"

namespace expc::cli {
namespace {

using validity::Finding;

const char* wordOf(Finding::Weight weight) {
  return weight == Finding::Weight::Fine ? "fine" : weight == Finding::Weight::Note ? "note" : "spoils";
}

std::string textOf(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<7} {}: {}\n", wordOf(finding.weight), finding.subject, finding.what);
    if (!finding.why.empty()) text += fmt::format("        why:  {}\n", finding.why);
    if (!finding.mend.empty()) text += fmt::format("        mend: {}\n", finding.mend);
  }
  return text;
}

std::string jsonOf(const machine::Machine& machine, const std::vector<Finding>& findings) {
  llvm::json::Array array;
  for (const Finding& finding : findings)
    array.push_back(llvm::json::Object{{"weight", wordOf(finding.weight)},
                                       {"subject", base::jsonText(finding.subject)},
                                       {"what", base::jsonText(finding.what)},
                                       {"why", base::jsonText(finding.why)},
                                       {"mend", base::jsonText(finding.mend)}});
  return base::prettyJson(llvm::json::Object{
      {"schema", "expc.doctor/1"}, {"machine", base::written(machine)}, {"findings", std::move(array)}});
}

}  // namespace

int doctor(const MeasuredOptions& options, const Console& console) {
  auto null_gpus = nullGpusOf(options.machine);
  if (!null_gpus) return console.error(null_gpus.takeError());
  const machine::Machine machine = machine::probe(*null_gpus);
  std::vector<Finding> findings = validity::examineHost(machine);
  const auto add = [&](std::vector<Finding> more) { findings.insert(findings.end(), more.begin(), more.end()); };
  add(validity::examineCards(machine, validity::Cards(machine.nvml_library)));
  add(validity::examineFolder(options.results));
  const bool printed =
      console.print(options.format == Format::Json ? jsonOf(machine, findings) + "\n" : textOf(findings));
  const bool spoilt = std::any_of(findings.begin(), findings.end(),
                                  [](const Finding& one) { return one.weight == Finding::Weight::Spoils; });
  return printed && !spoilt ? kSuccess : kError;
}

}  // namespace expc::cli
