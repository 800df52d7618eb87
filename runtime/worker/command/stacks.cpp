// Python stacks of a program's processes, by signals and /proc. One process after another writes its stacks, so that
// those that share a file do not mix; all others are stopped meanwhile, since a launcher would end its ranks once one
// of them dies.

#include "runtime/worker/command/stacks.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/process.h"

namespace expc::command {
namespace {

namespace fs = std::filesystem;

constexpr double kLookAgain = 0.25;  // seconds
/// The time that a process has to write its stacks.
constexpr auto kDumpPatience = std::chrono::seconds(1);
constexpr size_t kMostDump = 256 << 10;  // bytes

double now() { return base::secondsOn(CLOCK_MONOTONIC); }

std::string linkAt(pid_t pid, const char* name) {
  std::error_code failed;
  return fs::read_symlink(fmt::format("/proc/{}/{}", pid, name), failed).string();
}

/// A Python process.
struct Python {
  pid_t pid = 0;
  std::string rank;  // the variable RANK; "" without it
};

/// The rank of a process; nothing if it runs no Python.
std::optional<std::string> rankOf(pid_t pid) {
  if (!fs::path(linkAt(pid, "exe")).filename().string().starts_with("python")) return std::nullopt;
  const std::string variables = base::readText(fmt::format("/proc/{}/environ", pid)).value_or("");
  for (const StringRef variable : llvm::split(variables, '\0'))
    if (variable.starts_with("RANK=")) return variable.drop_front(5).str();
  return "";
}

/// The Python processes among `pids` that stand for a rank: not the helpers that these started, such as loaders, and if
/// there are ranks none of those that only launch them.
std::vector<Python> ranksAmong(const std::set<int>& pids) {
  std::map<pid_t, std::string> known;
  for (const pid_t pid : pids)
    if (auto rank = rankOf(pid)) known[pid] = std::move(*rank);
  std::vector<Python> found;
  for (const auto& [pid, rank] : known) {
    const auto parent = known.find(base::processOf(pid).parent);
    if (parent == known.end() || parent->second != rank) found.push_back({pid, rank});
  }
  if (std::ranges::any_of(found, [](const Python& one) { return !one.rank.empty(); }))
    std::erase_if(found, [](const Python& one) { return one.rank.empty(); });
  return found;
}

/// Lets a stopped process write its stacks and die. Returns what it wrote to its standard error.
std::string dumpOf(pid_t pid) {
  const std::string file = linkAt(pid, "fd/2");
  std::error_code failed;
  const auto before = fs::file_size(file, failed);
  // With this limit the kernel writes no core, and starts no program that would take one (core(5)).
  const rlimit none{1, 1};
  prlimit(pid, RLIMIT_CORE, &none, nullptr);
  kill(pid, SIGABRT);
  kill(pid, SIGCONT);
  for (const auto until = base::Clock::now() + kDumpPatience;
       base::processOf(pid).runs() && base::Clock::now() < until;)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const auto after = fs::file_size(file, failed);
  return failed || after <= before ? "" : files::tail(file, std::min<size_t>(after - before, kMostDump));
}

/// A line of a stack: `  File "train.py", line 31 in main`.
struct Frame {
  StringRef file, line, function;

  bool ofLibrary() const {
    return file.contains("-packages/") || file.contains("/lib/python") || file.starts_with("<");
  }
};

}  // namespace

std::string placeIn(const std::string& dump) {
  std::vector<Frame> frames;  // of the last thread, which is the oldest; innermost first
  for (StringRef line : llvm::split(dump, '\n')) {
    if (line.contains("(most recent call first)")) frames.clear();
    if (!line.consume_front("  File \"")) continue;
    const auto [file, rest] = line.split("\", line ");
    const auto [number, function] = rest.split(" in ");
    frames.push_back({file, number, function});
  }
  if (frames.empty()) return "";
  auto own = std::ranges::find_if(frames, [](const Frame& one) { return !one.ofLibrary(); });
  if (own == frames.end()) own = frames.begin();
  std::string text = fmt::format("{}:{}", own->file.substr(own->file.rfind('/') + 1), own->line);
  if (!own->function.starts_with("<")) text += " in " + own->function.str();
  // A collective has its own name in this file of torch; else the called function says most.
  const auto collective = std::find_if(frames.begin(), own, [](const Frame& one) {
    return one.file.ends_with("distributed_c10d.py") && !one.function.starts_with("_");
  });
  if (own == frames.begin()) return text;
  return fmt::format("{}, waiting in {}", text, (collective != own ? collective : own - 1)->function);
}

double StackAttendant::look(pid_t program) {
  if (began_ < 0) began_ = now();
  const double left = began_ + seconds_ - now();
  if (left <= 0) {
    cut_ = true;
    kill(-program, SIGKILL);
  }
  return std::clamp(left, 0.01, kLookAgain);
}

void StackAttendant::told(pid_t program) {
  if (std::exchange(told_, true)) return;
  std::set<int> all = base::familyOf(getpid()).pids;
  all.erase(getpid());
  for (const pid_t pid : all) kill(pid, SIGSTOP);
  const std::vector<Python> ranks = ranksAmong(all);
  for (const Python& one : ranks) {
    const std::string place = placeIn(dumpOf(one.pid));
    if (place.empty()) continue;
    places_ +=
        fmt::format("{}{}{}", places_.empty() ? "" : "; ", ranks.size() > 1 ? "rank " + one.rank + ": " : "", place);
  }
  kill(-program, SIGKILL);
}

}  // namespace expc::command
