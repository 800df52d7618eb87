#include "runtime/cluster/script.h"

#include <fmt/format.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

namespace expc::cluster {
namespace {

// Seconds before the end of the job at which it is told. Slurm may be a minute late.
constexpr int kToldBefore = 180;

// What a job gets of the submitting shell without being asked.
constexpr const char* kAlways = "HOME,USER,LOGNAME,PATH,LANG";

std::string names(const Site& site) {
  std::string all = kAlways;
  for (const auto* list : {&site.exported, &site.secrets})
    for (const std::string& name : *list) all += "," + name;
  return all;
}

std::string header(const Site& site, const Job& job) {
  std::string text = "#!/bin/bash\n";
  const auto line = [&](const std::string& option) { text += "#SBATCH " + option + "\n"; };
  line("--job-name=" + quoted("expc-" + job.name));
  const auto nodes = llvm::find_if(site.asked, [](const auto& asked) { return asked.first == "--nodes"; });
  if (nodes == site.asked.end()) line("--nodes=1");
  // One task has all of a node. Where one of several is lost Slurm queues the job again and the run goes on from its
  // journals: the node of the batch script may be the one, and nobody would be left to end the others.
  if (nodes != site.asked.end() && nodes->second != "1") line("--ntasks-per-node=1");
  for (const auto& [option, value] : site.asked) line(option + "=" + value);
  for (const std::string& option : site.options) line(option);
  line("--requeue");
  line("--open-mode=append");
  line(fmt::format("--signal=B:USR1@{}", kToldBefore));
  // Behind a % Slurm looks for words of its own.
  line("--output=" + quoted(llvm::join(llvm::split(job.jobs, '%'), "%%") + "/slurm-%j.log"));
  line("--chdir=" + quoted(job.folder));
  line("--export=" + names(site));
  return text;
}

/// Modules and set-up, and a file of the variables that they set, with those that are secret left out.
std::string prepare(const Site& site, const Job& job) {
  if (site.modules.empty() && site.setup.empty()) return "";
  std::string pattern = "BASH.*|_|SHLVL|PWD|OLDPWD";
  for (const std::string& name : site.secrets) pattern += "|" + name;
  std::string text = fmt::format(
      "\nvariables() {{ compgen -e | grep -vxE '{}' | while read -r name; do printf '%s=%q\\n' \"$name\" "
      "\"${{!name}}\"; done; }}\nbefore=$(variables)\n",
      pattern);
  for (const std::string& module : site.modules) text += "module load " + quoted(module) + " || exit 1\n";
  for (const std::string& line : site.setup) text += line + "\n";
  text += fmt::format("comm -13 <(sort <<<\"$before\") <(variables | sort) >{}/slurm-$SLURM_JOB_ID.environment\n",
                      quoted(job.jobs));
  return text;
}

std::string body(const Site& site, const Job& job) {
  std::string command;
  for (const std::string& word : job.command) command += quoted(word) + " ";
  // Its variables are those of the job.
  if (!site.scratch.empty()) command += "--scratch \"" + site.scratch + "\" ";
  return fmt::format(R"(
# The engine ends cleanly when it is told. Before the end of its time the job asks to be queued again; ended from outside
# (cancelled, preempted) it does not ask, since Slurm knows by itself whether it is to run again.
rm -f {}/slurm-$SLURM_JOB_ID.code
{}&
engine=$!
outside=
trap 'told=1; kill -USR1 "$engine" 2>/dev/null' USR1
trap 'told=1; outside=1; kill -USR1 "$engine" 2>/dev/null' TERM
while told=; wait "$engine"; code=$?; [ -n "$told" ]; do :; done
[ -z "$outside" ] || exit "$code"
[ "$code" != 130 ] || {{ scontrol requeue "$SLURM_JOB_ID" && exit 0; }}
echo "$code" >{}/slurm-$SLURM_JOB_ID.code
exit "$code"
)",
                     quoted(job.jobs), command, quoted(job.jobs));
}

}  // namespace

std::string quoted(const std::string& word) {
  const auto plain = [](char c) { return llvm::isAlnum(c) || llvm::StringRef("_-./=:,+@%").contains(c); };
  if (!word.empty() && llvm::all_of(word, plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string renderScript(const Site& site, const Job& job) {
  return header(site, job) + prepare(site, job) + body(site, job);
}

}  // namespace expc::cluster
