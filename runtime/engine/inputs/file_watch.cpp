// FileWatch: stamps of watched files, and the check before and after each trial.

#include "runtime/engine/inputs/file_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>
#include <utility>

#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/store/match.h"

namespace expc::engine::inputs {
namespace {

std::string pathOf(const Plan& plan, const std::string& data) {
  return (std::filesystem::path(plan.root) / data).string();
}

/// The error of a file that changed during the run; `gone`: it does not exist any more.
Error changed(const std::string& path, bool gone) {
  return failure(
      "'{}' {} during the run, so the run stopped. Results are kept. The same command measures again with the new file",
      path, gone ? "has vanished" : "has changed");
}

}  // namespace

std::optional<FileStamp> stampOf(const std::string& path) {
  struct stat state{};
  if (stat(path.c_str(), &state) != 0) return std::nullopt;
  const auto ns = [](const timespec& moment) { return moment.tv_sec * 1'000'000'000 + moment.tv_nsec; };
  return FileStamp{state.st_dev, state.st_ino, uint64_t(state.st_size), ns(state.st_mtim), ns(state.st_ctim)};
}

FileWatch::FileWatch(const Plan& plan, const std::vector<CommandFiles>& files) {
  for (const std::string& data : plan.data_paths) {
    const std::string path = pathOf(plan, data);
    watched_[data][path] = stampOf(path);
  }
  for (size_t i = 0; i < files.size(); ++i) {
    Stamps& stamps = watched_[store::commandKey(plan.workloads[i])];
    for (const std::string& program : files[i].programs) stamps[program] = stampOf(program);
    for (const InputFile& input : files[i].inputs) {
      stamps[input.path] = stampOf(input.path);
      links_ |= input.hard;
    }
  }
}

Error FileWatch::check(const Plan& plan, const Point& point, const std::vector<CommandFiles>& files,
                       const std::map<std::string, std::string>& digests, const Tick& tick) {
  // Only what this point reads: a change of another point's data does not end this trial.
  const std::string command = store::commandKey(plan.workloads[point.workload]);
  const std::set<std::string> data = store::dataPathsOf(point, plan.data_paths);
  const std::set<std::string> prepared = store::preparedFilesOf(plan, point, digests);
  std::vector<std::string> keys(data.begin(), data.end());
  keys.insert(keys.end(), prepared.begin(), prepared.end());
  keys.push_back(command);
  for (const std::string& key : keys) {
    // Take the stamps before the contents: a change during the reading then shows at the next check.
    Stamps now = watched_[key];
    for (auto& [path, stamp] : now) stamp = stampOf(path);
    const auto differs =
        std::ranges::find_if(now, [&](const auto& one) { return watched_[key].at(one.first) != one.second; });
    if (differs == now.end()) continue;
    // No stamp: the file is gone, whatever its digest was.
    if (!differs->second) return changed(differs->first, /*gone=*/true);
    // A command has one digest over all its files; data and prepared files have one each.
    auto digest = TRY(key == command ? digestCommand(plan, point.workload, files[point.workload], tick)
                                     : digestPath(differs->first, tick));
    if (valueIn(digests, key) != digest) return changed(differs->first, /*gone=*/false);
    watched_[key] = std::move(now);
  }
  return Error::success();
}

Error FileWatch::whileLinking(function_ref<Error()> change) {
  if (!links_) return change();
  // Only ctime is taken over afterwards, so that a change of size or mtime in between still shows.
  std::vector<std::pair<std::string, FileStamp*>> unchanged;
  for (auto& [key, stamps] : watched_)
    for (auto& [path, stamp] : stamps)
      if (stamp && stamp == stampOf(path)) unchanged.emplace_back(path, &*stamp);
  Error error = change();
  for (const auto& [path, stamp] : unchanged)
    if (const auto now = stampOf(path)) stamp->changed_ns = now->changed_ns;
  return error;
}

}  // namespace expc::engine::inputs
