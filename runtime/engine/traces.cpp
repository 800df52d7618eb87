// Traces: names of trace files, which trials write them, and the message at the end of a run.

#include "runtime/engine/traces.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "runtime/base/failure.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/text.h"

namespace expc::engine {
namespace {

constexpr size_t kMaxName = 120;  // bytes of a file's name before the trial's number; file systems take 255

/// A file name from a point's label that needs no quotes in a shell and is valid on any file system.
std::string fileName(std::string_view label) {
  std::string name(label.substr(0, kMaxName));
  const auto harmless = [](unsigned char c) { return std::isalnum(c) || c == '=' || c == '.' || c == '-' || c == '_'; };
  std::ranges::replace_if(name, [&](unsigned char c) { return !harmless(c); }, '_');
  // A leading dot hides a file, and a leading dash looks like an option.
  if (name.empty() || name[0] == '.' || name[0] == '-') name = "_" + name;
  return name;
}

}  // namespace

Error Traces::prepare() const {
  if (folder_.empty()) return Error::success();
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  // Checked before the first trial, since the worker would only fail at the end of a profile trial.
  if (!failed && access(folder_.c_str(), W_OK) != 0) failed = std::error_code(errno, std::generic_category());
  if (!failed) return Error::success();
  return failure("--trace {}: {}; name a writable folder", folder_, failed.message());
}

std::string Traces::path(const Plan& plan, const Point& point, int64_t trial) const {
  return fmt::format("{}/{}.trial{}", folder_, fileName(plan.label(point)), trial);
}

std::string Traces::variable(TrialKind kind, const Plan& plan, const Point& point, int64_t trial) const {
  if (folder_.empty() || kind != TrialKind::Profile || traced_.count(point.id)) return "";
  return "EXPC_TRACE=" + path(plan, point, trial);
}

void Traces::ended(TrialKind kind, const Plan& plan, const Point& point, int64_t trial, bool well) {
  if (folder_.empty() || kind != TrialKind::Profile || traced_.count(point.id)) return;
  std::error_code missing;
  if (!well) {
    failed_ = true;
  } else if (std::filesystem::exists(path(plan, point, trial) + ".rank0.json", missing)) {
    // All ranks trace the same steps, so rank 0's file stands for the others.
    traced_.insert(point.id);
    untraced_.erase(point.id);
  } else {
    untraced_.insert(point.id);
  }
}

std::string Traces::summary(const Plan& plan) const {
  if (folder_.empty()) return "";
  const auto points = [](size_t count) { return base::counted(count, "point"); };
  // The message explains the most likely reason if nothing was traced, in the order in which things can go wrong.
  const std::string lacking =
      fmt::format("{} left no trace; the notes in the report explain why", points(untraced_.size()));
  if (!traced_.empty())
    return fmt::format("traces of {} are in {}: open one at https://ui.perfetto.dev or chrome://tracing{}",
                       points(traced_.size()), folder_, untraced_.empty() ? "" : "; " + lacking);
  if (!untraced_.empty()) return "--trace: " + lacking;
  if (failed_) return "--trace: nothing was traced, because no profile trial was valid";
  if (!plan::designOf(plan, TrialKind::Profile))
    return "--trace: nothing was traced, because the design has no profile trials: add `profile { repeat 1 steps 20 "
           "warmup 5 }` to it, and measure one of their metrics";
  return "--trace: nothing was traced, because all profile trials are stored; another --results folder runs them again";
}

}  // namespace expc::engine
