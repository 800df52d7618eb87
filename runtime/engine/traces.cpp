#include "runtime/engine/traces.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace expc::engine {
namespace {

constexpr size_t kMaxName = 120;  // of a file, before the trial's number

/// What a shell and any file system take as it is.
std::string fileName(std::string_view label) {
  std::string name(label.substr(0, kMaxName));
  const auto harmless = [](unsigned char c) { return std::isalnum(c) || c == '=' || c == '.' || c == '-' || c == '_'; };
  std::replace_if(name.begin(), name.end(), [&](unsigned char c) { return !harmless(c); }, '_');
  if (name.empty() || name[0] == '.' || name[0] == '-') name = "_" + name;
  return name;
}

bool hasProfiles(const plan::Plan& plan) {
  return std::any_of(plan.design.kinds.begin(), plan.design.kinds.end(),
                     [](const plan::KindDesign& design) { return design.kind == plan::TrialKind::Profile; });
}

}  // namespace

llvm::Error Traces::prepare() const {
  if (folder_.empty()) return llvm::Error::success();
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  if (!failed && access(folder_.c_str(), W_OK) != 0) failed = std::error_code(errno, std::generic_category());
  if (!failed) return llvm::Error::success();
  return llvm::createStringError(
      fmt::format("--trace {}: {}; name a folder that can be written", folder_, failed.message()));
}

std::string Traces::variable(plan::TrialKind kind, const plan::Plan& plan, const plan::Point& point,
                             int64_t trial) const {
  if (folder_.empty() || kind != plan::TrialKind::Profile || traced_.count(point.id)) return "";
  return fmt::format("EXPC_TRACE={}/{}.trial{}", folder_, fileName(plan.label(point)), trial);
}

void Traces::ended(plan::TrialKind kind, const std::string& point) {
  if (kind == plan::TrialKind::Profile) traced_.insert(point);
}

std::string Traces::summary(const plan::Plan& plan) const {
  if (folder_.empty()) return "";
  if (!traced_.empty())
    return fmt::format("traces of {} point{} are in {}: open one at https://ui.perfetto.dev or chrome://tracing",
                       traced_.size(), traced_.size() == 1 ? "" : "s", folder_);
  if (!hasProfiles(plan))
    return "--trace: nothing was traced, since the design has no profile trials; give it `profile { repeat 1 steps 20 "
           "warmup 5 }` and measure one of their metrics";
  return "--trace: nothing was traced, since no profile trial was left to run; another --results folder runs them "
         "again";
}

}  // namespace expc::engine
