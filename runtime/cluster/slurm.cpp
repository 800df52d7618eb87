#include "runtime/cluster/slurm.h"

#include <fmt/format.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Program.h>
#include <unistd.h>

#include <cstdlib>

#include "runtime/base/failure.h"
#include "runtime/files/files.h"

namespace expc::cluster {
namespace {

constexpr unsigned kPatienceSeconds = 60;  // of a controller that does not answer

}  // namespace

llvm::Expected<std::string> output(const std::vector<std::string>& command) {
  auto program = llvm::sys::findProgramByName(command.front());
  if (!program)
    return base::failure("there is no {} in PATH: is this a login node of a cluster with Slurm?", command.front());
  llvm::SmallString<64> out, err;
  if (llvm::sys::fs::createTemporaryFile("expc", "out", out) || llvm::sys::fs::createTemporaryFile("expc", "err", err))
    return base::failure("no temporary file can be made");
  const std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), out.str(), err.str()};
  std::vector<llvm::StringRef> words(command.begin(), command.end());
  std::string failure;
  const int code = llvm::sys::ExecuteAndWait(*program, words, std::nullopt, redirects, kPatienceSeconds, 0, &failure);
  const std::string text = files::tail(out.str().str(), files::kMostByHand);
  const std::string complaint = llvm::StringRef(files::tail(err.str().str(), files::kMostByHand)).trim().str();
  llvm::sys::fs::remove(out);
  llvm::sys::fs::remove(err);
  if (code == 0) return text;
  return base::failure("{} ended with {}: {}", command.front(), code, complaint.empty() ? failure : complaint);
}

llvm::Expected<std::string> submit(const std::string& script_path) {
  auto printed = output({"sbatch", "--parsable", script_path});
  if (!printed) return printed.takeError();
  // "12" or "12;cluster".
  const std::string id = llvm::StringRef(*printed).trim().split(';').first.str();
  if (id.empty() || !llvm::all_of(id, llvm::isDigit))
    return base::failure("sbatch printed no number of a job but '{}'", *printed);
  return id;
}

std::optional<double> parseTimeLeft(std::string_view text) {
  llvm::StringRef rest = llvm::StringRef(text.data(), text.size()).trim();
  unsigned days = 0;
  if (const auto [before, after] = rest.split('-'); !after.empty()) {
    if (before.getAsInteger(10, days)) return std::nullopt;
    rest = after;
  }
  llvm::SmallVector<llvm::StringRef, 3> parts;
  rest.split(parts, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  double seconds = 0;
  for (const llvm::StringRef part : parts) {
    unsigned value = 0;
    if (part.getAsInteger(10, value)) return std::nullopt;
    seconds = seconds * 60 + value;
  }
  return seconds + days * 86400.0;
}

llvm::Expected<std::optional<double>> secondsLeft() {
  const char* job = std::getenv("SLURM_JOB_ID");
  if (!job) return std::nullopt;
  auto printed = output({"squeue", "-h", "-j", job, "-o", "%L"});
  if (!printed) return printed.takeError();
  const llvm::StringRef text = llvm::StringRef(*printed).trim();
  if (text == "UNLIMITED") return std::nullopt;
  if (auto seconds = parseTimeLeft(text)) return seconds;
  return base::failure("squeue does not say when job {} ends but '{}'", job, text.str());
}

llvm::Expected<std::optional<Allocation>> allocation() {
  const char* job = std::getenv("SLURM_JOB_ID");
  const char* list = std::getenv("SLURM_JOB_NODELIST");
  if (!job || !list) return std::nullopt;
  auto printed = output({"scontrol", "show", "hostnames", list});
  if (!printed) return printed.takeError();
  Allocation own;
  own.job = job;
  llvm::SmallVector<llvm::StringRef> names;
  llvm::SplitString(*printed, names);
  for (const llvm::StringRef name : names) own.nodes.push_back(name.str());
  if (own.nodes.empty()) return base::failure("scontrol does not say which nodes allocation {} has", job);
  const char* node = std::getenv("SLURMD_NODENAME");
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const std::string here = node ? node : llvm::StringRef(host).split('.').first.str();
  own.is_here = llvm::is_contained(own.nodes, here);
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
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text.data(), text.size()).split(lines, '\n', -1, false);
  for (const llvm::StringRef line : lines) {
    const auto [id, rest] = line.trim().split('|');
    const auto [state, reason] = rest.split('|');
    if (!id.empty() && !state.empty()) states[id.str()] = {state.str(), reason.str()};
  }
  return states;
}

}  // namespace expc::cluster
