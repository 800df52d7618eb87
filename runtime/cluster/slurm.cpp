// Site files, job scripts and Slurm's commands.
//
// The script runs the engine in the background and waits for it, so that the shell can pass signals on: Slurm's USR1
// before the end of the time, and TERM for a cancelled or preempted job. Words in the script come from studies and site
// files, so all are quoted except `setup` lines and `scratch`, which are shell text by definition.

#include "runtime/cluster/slurm.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Program.h>
#include <llvm/Support/Regex.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>
#include <tuple>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/process.h"
#include "runtime/base/text.h"

namespace expc::cluster {
namespace {

/// Settings that may stand once, each with the option of sbatch that it becomes.
constexpr std::pair<const char*, const char*> kOnce[] = {
    {"partition", "--partition"},   {"account", "--account"},    {"qos", "--qos"},
    {"constraint", "--constraint"}, {"time", "--time"},          {"nodes", "--nodes"},
    {"gpus", "--gpus-per-node"},    {"cpus", "--cpus-per-task"}, {"memory", "--mem"},
};

/// Settings that may be repeated, each with the list that it goes to.
constexpr std::pair<const char*, std::vector<std::string> Site::*> kRepeated[] = {
    {"option", &Site::options},  {"module", &Site::modules}, {"setup", &Site::setup},
    {"export", &Site::exported}, {"secret", &Site::secrets},
};

constexpr const char kScratch[] = "scratch";

/// The names of all settings, for a message.
std::string known() {
  std::string names;
  for (const auto& [name, meaning] : kOnce) names += fmt::format("{}, ", name);
  names += fmt::format("{}, ", kScratch);
  for (const auto& [name, meaning] : kRepeated) names += fmt::format("{}, ", name);
  return names.substr(0, names.size() - 2);
}

/// Whether the text can be the name of a shell variable.
bool isVariable(StringRef text) {
  return !text.empty() && !llvm::isDigit(text.front()) &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// Whether the text has no spaces, quotes or backslashes, so that it needs no quoting in a line #SBATCH.
bool isOneWord(StringRef text) {
  return llvm::all_of(text, [](char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\'' && c != '\\'; });
}

/// Why the value is not allowed for the setting; "" if it is.
std::string complaint(StringRef name, StringRef value) {
  if (value.empty()) return fmt::format("'{}' has no value", name.str());
  if (llvm::any_of(value, [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\t'; }))
    return "a value holds no control characters";
  if (name == "setup") return "";
  if (name == "secret" || name == "export") {
    if (isVariable(value)) return "";
    // The message must not repeat the value, which may be the secret itself.
    return fmt::format("'{}' takes the name of one variable, and never its value", name.str());
  }
  if (!isOneWord(value)) return fmt::format("'{}' takes one word without quotes", name.str());
  unsigned nodes = 0;
  if (name == "nodes" && (value.getAsInteger(10, nodes) || nodes == 0)) return "'nodes' takes a number, such as 4";
  // The formats of sbatch --time: minutes, a clock such as 30:00 or 4:00:00, or days in front of hours.
  static const llvm::Regex time("^([0-9]+(:[0-9]{1,2}){0,2}|[0-9]+-[0-9]{1,2}(:[0-9]{1,2}){0,2}|UNLIMITED|INFINITE)$");
  if (name == "time" && !time.match(value))
    return "'time' takes a time as sbatch does, such as 30 (minutes), 30:00, 4:00:00 or 2-12:00:00";
  if (name == kScratch && !value.starts_with("/") && !value.starts_with("$"))
    return "'scratch' takes a folder, such as /local/$USER or $TMPDIR";
  if (name == "option" && !value.starts_with("-"))
    return "'option' takes an option of sbatch, such as --exclusive or --mem-per-cpu=4G";
  return "";
}

/// Takes one setting into `site`. Returns why it is refused, or "".
std::string take(Site& site, StringRef name, StringRef value) {
  const auto is = [&](const auto& known) { return name == known.first; };
  // The setting must be known, then its value allowed, then it must not stand twice.
  const auto* const once = llvm::find_if(kOnce, is);
  const auto* const repeated = llvm::find_if(kRepeated, is);
  const bool is_once = once != std::end(kOnce), is_repeated = repeated != std::end(kRepeated);
  if (!is_once && !is_repeated && name != kScratch)
    return fmt::format("unknown setting '{}'; known are {}", isVariable(name) ? name.str() : "", known());
  if (std::string wrong = complaint(name, value); !wrong.empty()) return wrong;
  if (is_repeated) {
    (site.*repeated->second).push_back(value.str());
    return "";
  }
  if (is_once ? llvm::any_of(site.asked, [&](const auto& asked) { return asked.first == once->second; })
              : !site.scratch.empty())
    return fmt::format("'{}' is given twice", name.str());
  if (is_once)
    site.asked.emplace_back(once->second, value.str());
  else
    site.scratch = value.str();
  return "";
}

// Seconds before the end of its time at which a job is signalled. Slurm may be a minute late, and a run stops two
// minutes before the end (engine::kBeforeEnd).
constexpr int kToldBefore = 180;

// Variables of the submitting shell that each job gets. --export replaces Slurm's default, which is all of them.
constexpr const char* kAlways = "HOME,USER,LOGNAME,PATH,LANG";

/// The names of all variables that the job gets from the submitting shell.
std::string names(const Site& site) {
  std::string all = kAlways;
  for (const auto* list : {&site.exported, &site.secrets})
    for (const std::string& name : *list) all += "," + name;
  return all;
}

/// The lines #SBATCH of the script.
std::string header(const Site& site, const Job& job) {
  std::string text = "#!/bin/bash\n";
  const auto line = [&](const std::string& option) { text += "#SBATCH " + option + "\n"; };
  line("--job-name=" + base::shellWord("expc-" + job.name));
  const auto nodes = llvm::find_if(site.asked, [](const auto& asked) { return asked.first == "--nodes"; });
  if (nodes == site.asked.end()) line("--nodes=1");
  // One task has a whole node. If one of several nodes is lost, Slurm requeues the job, and the run continues from its
  // journals. Going on without that node is no choice: it may be the one of the batch script, and then nobody would be
  // left to end the others.
  if (nodes != site.asked.end() && nodes->second != "1") line("--ntasks-per-node=1");
  for (const auto& [option, value] : site.asked) line(option + "=" + value);
  for (const std::string& option : site.options) line(option);
  // A run continues from its journals, so a requeued job loses nothing; its log is appended to.
  line("--requeue");
  line("--open-mode=append");
  // B: only the batch shell gets the signal, which passes it to the engine.
  line(fmt::format("--signal=B:USR1@{}", kToldBefore));
  // In file names Slurm replaces %j and others, so a % in the path is doubled.
  line("--output=" + base::shellWord(llvm::join(llvm::split(job.jobs, '%'), "%%") + "/slurm-%j.log"));
  line("--chdir=" + base::shellWord(job.folder));
  line("--export=" + names(site));
  return text;
}

/// Shell lines that load modules, run `setup`, and write the variables that these have set to a file, except secret
/// ones, so that the results say in which environment they were measured.
std::string prepare(const Site& site, const Job& job) {
  if (site.modules.empty() && site.setup.empty()) return "";
  // Variables of the shell itself change at every step and are nobody's set-up.
  std::string pattern = "BASH.*|_|SHLVL|PWD|OLDPWD";
  for (const std::string& name : site.secrets) pattern += "|" + name;
  std::string text = fmt::format(
      "\nvariables() {{ compgen -e | grep -vxE '{}' | while read -r name; do printf '%s=%q\\n' \"$name\" "
      "\"${{!name}}\"; done; }}\nbefore=$(variables)\n",
      pattern);
  for (const std::string& module : site.modules) text += "module load " + base::shellWord(module) + " || exit 1\n";
  for (const std::string& line : site.setup) text += line + "\n";
  text += fmt::format("comm -13 <(sort <<<\"$before\") <(variables | sort) >{}/slurm-$SLURM_JOB_ID.environment\n",
                      base::shellWord(job.jobs));
  return text;
}

/// Shell lines that run the engine, pass signals on, and leave its exit code.
std::string body(const Site& site, const Job& job) {
  std::string command;
  for (const std::string& word : job.command) command += base::shellWord(word) + " ";
  // In double quotes, so that the job's shell expands variables such as $TMPDIR on the node.
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
                     base::shellWord(job.jobs), command, base::shellWord(job.jobs));
}

constexpr unsigned kPatienceSeconds = 60;  // for a controller that does not answer

}  // namespace

Expected<Site> parseSite(std::string_view text, std::string_view file) {
  Site site;
  StringRef rest(text.data(), text.size());
  for (unsigned number = 1; !rest.empty(); ++number) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    line = line.trim();
    if (line.empty() || line.starts_with("#")) continue;
    const auto [name, value] = line.split('=');
    const std::string wrong = name.size() == line.size() ? "a line is NAME = VALUE, or a comment that begins with #"
                                                         : take(site, name.trim(), value.trim());
    if (!wrong.empty()) return failure("{}:{}: {}", file, number, wrong);
  }
  return site;
}

Expected<Site> readSite(const std::string& path) {
  auto text = files::read(path, files::kMostByHand);
  if (!text) return failure("the site file cannot be read: {}", text.takeError());
  return parseSite(std::string_view((*text)->getBuffer()), path);
}

std::string renderScript(const Site& site, const Job& job) {
  return header(site, job) + prepare(site, job) + body(site, job);
}

// ---- its commands

Expected<std::string> output(const std::vector<std::string>& command) {
  auto program = llvm::sys::findProgramByName(command.front());
  if (!program) return failure("{} not found in PATH: is this a login node of a cluster with Slurm?", command.front());
  // ExecuteAndWait redirects to files only.
  llvm::SmallString<64> out, err;
  if (llvm::sys::fs::createTemporaryFile("expc", "out", out) || llvm::sys::fs::createTemporaryFile("expc", "err", err))
    return failure("cannot make a temporary file");
  const std::optional<StringRef> redirects[] = {StringRef(), out.str(), err.str()};
  std::vector<StringRef> words(command.begin(), command.end());
  std::string message;
  const int code = llvm::sys::ExecuteAndWait(*program, words, std::nullopt, redirects, kPatienceSeconds, 0, &message);
  const std::string text = files::tail(out.str().str(), files::kMostByHand);
  const std::string complaint = StringRef(files::tail(err.str().str(), files::kMostByHand)).trim().str();
  llvm::sys::fs::remove(out);
  llvm::sys::fs::remove(err);
  if (code == 0) return text;
  return failure("{} exited with {}: {}", command.front(), code, complaint.empty() ? message : complaint);
}

Expected<std::string> submit(const std::string& script_path) {
  auto printed = TRY(output({"sbatch", "--parsable", script_path}));
  // sbatch --parsable prints "12", or "12;cluster" in a federation.
  const std::string id = StringRef(printed).trim().split(';').first.str();
  if (id.empty() || !llvm::all_of(id, llvm::isDigit))
    return failure("sbatch printed '{}' and not the number of a job", printed);
  return id;
}

std::optional<double> parseTimeLeft(std::string_view text) {
  StringRef rest = StringRef(text.data(), text.size()).trim();
  unsigned days = 0;
  if (const auto [before, after] = rest.split('-'); !after.empty()) {
    if (before.getAsInteger(10, days)) return std::nullopt;
    rest = after;
  }
  llvm::SmallVector<StringRef, 3> parts;
  rest.split(parts, ':');
  // squeue(1), %L: hours are left out if they are 0.
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  // Base 60, from hours or minutes down to seconds.
  double seconds = 0;
  for (const StringRef part : parts) {
    unsigned value = 0;
    if (part.getAsInteger(10, value)) return std::nullopt;
    seconds = seconds * 60 + value;
  }
  return seconds + days * 86400.0;
}

Expected<std::optional<double>> secondsLeft() {
  const char* job = std::getenv("SLURM_JOB_ID");
  if (!job) return std::nullopt;
  auto printed = TRY(output({"squeue", "-h", "-j", job, "-o", "%L"}));
  const StringRef text = StringRef(printed).trim();
  if (text == "UNLIMITED") return std::nullopt;
  if (auto seconds = parseTimeLeft(text)) return seconds;
  return failure("squeue does not say when job {} ends; it printed '{}'", job, text.str());
}

Expected<std::optional<Allocation>> allocation() {
  const char* job = std::getenv("SLURM_JOB_ID");
  const char* list = std::getenv("SLURM_JOB_NODELIST");
  if (!job || !list) return std::nullopt;
  auto printed = TRY(output({"scontrol", "show", "hostnames", list}));
  Allocation own;
  own.job = job;
  llvm::SmallVector<StringRef> names;
  // SLURM_JOB_NODELIST is compressed, such as n[1-4]; scontrol expands it to one name a line.
  llvm::SplitString(printed, names);
  for (const StringRef name : names) own.nodes.push_back(name.str());
  if (own.nodes.empty()) return failure("scontrol did not print the nodes of allocation {}", job);
  const char* node = std::getenv("SLURMD_NODENAME");
  const std::string host = base::hostName(), here = node ? node : host.substr(0, host.find('.'));
  own.is_here = is_contained(own.nodes, here);
  return own;
}

std::string agentLine(std::string_view node) {
  return fmt::format(
      "exec srun --nodelist={} --nodes=1 --ntasks=1 --ntasks-per-node=1 --export=ALL --overlap --mpi=none "
      "--cpu-bind=none --input=all --output=all $EXPC_AGENT",
      node);
}

std::map<std::string, std::pair<std::string, std::string>> parseStates(std::string_view text) {
  std::map<std::string, std::pair<std::string, std::string>> states;
  llvm::SmallVector<StringRef> lines;
  StringRef(text.data(), text.size()).split(lines, '\n', -1, false);
  for (const StringRef line : lines) {
    const auto [id, rest] = line.trim().split('|');
    const auto [state, reason] = rest.split('|');
    if (!id.empty() && !state.empty()) states[id.str()] = {state.str(), reason.str()};
  }
  return states;
}

}  // namespace expc::cluster
