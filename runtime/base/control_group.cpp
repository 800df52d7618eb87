// /proc/self/cgroup names our group in each tree, and /proc/self/mountinfo says where trees are mounted. In a
// container both may show only a part of a tree, so the path that the first gives must be translated by the root
// that the second gives.

#include "runtime/base/control_group.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "runtime/base/llvm.h"
#include "runtime/base/process.h"

namespace expc::base {
namespace {

/// Whether a comma-separated list has a word: the controllers of a mount.
bool isAmong(StringRef word, StringRef list) { return is_contained(llvm::split(list, ','), word); }

/// Our path in the tree of version 1 that has the controller, or else in that of version 2.
std::string pathOf(const std::string& controller, const std::string& groups, bool& second_version) {
  std::string second;
  second_version = false;
  // A line is "ID:controllers:path"; version 2 is "0::path".
  for (const StringRef line : llvm::split(groups, '\n')) {
    const auto [controllers, path] = line.split(':').second.split(':');
    if (isAmong(controller, controllers)) return path.str();
    if (line.starts_with("0:") && controllers.empty()) second = path.str();
  }
  second_version = true;
  return second;
}

/// The group at `path`, if a line of mountinfo mounts its tree; otherwise a group without a folder.
ControlGroup groupOf(StringRef line, const std::string& controller, StringRef path, bool second_version) {
  const auto [front, back] = line.split(" - ");
  // A line of mountinfo has " - " between its optional fields and the type of file system (proc_pid_mountinfo(5)).
  llvm::SmallVector<StringRef, 12> fields, rest;
  front.split(fields, ' ');
  back.split(rest, ' ');
  if (fields.size() < 5 || rest.size() < 3 || rest[0] != (second_version ? "cgroup2" : "cgroup")) return {};
  if (!second_version && !isAmong(controller, rest[2])) return {};
  ControlGroup group{fields[4].str(), fields[4].str(), second_version, false};
  const StringRef root = fields[3] == "/" ? "" : fields[3];  // a container sees only a part of the tree
  if (!path.consume_front(root) || path.contains("/..")) return group;
  if (path == "/") path = "";
  group.own = path.empty() || path.front() == '/';
  if (group.own) group.folder += path;
  return group;
}

/// The smallest positive value among the group and those above it; 0 if there is none. A limit above ours holds for
/// us too.
double least(const ControlGroup& group, function_ref<double(const std::string& folder)> value) {
  double found = 0;
  // Walks up to the mount; what lies above is not visible.
  for (StringRef folder = group.folder; !folder.empty() && folder.size() >= group.mount.size();
       folder = folder.rsplit('/').first) {
    const double own = value(folder.str());
    if (own > 0 && (found == 0 || own < found)) found = own;
    if (!folder.contains('/')) break;
  }
  return found;
}

/// A number; 0 for "max" and for text that is not a number.
double number(StringRef text) { return std::strtod(text.str().c_str(), nullptr); }
double numberIn(const std::string& path) { return number(readText(path).value_or("")); }

}  // namespace

ControlGroup controlGroup(const std::string& controller, const std::string& root) {
  bool second_version = false;
  const std::string groups = readText(root + "/proc/self/cgroup").value_or("");
  const std::string mounts = readText(root + "/proc/self/mountinfo").value_or("");
  const std::string path = pathOf(controller, groups, second_version);
  std::map<std::string, ControlGroup> seen;  // by mount point: a later mount hides an earlier one
  for (const StringRef line : llvm::split(mounts, '\n')) {
    llvm::SmallVector<StringRef, 12> fields;
    line.split(fields, ' ');
    if (fields.size() > 4) seen[fields[4].str()] = groupOf(line, controller, path, second_version);
  }
  ControlGroup found;
  // Our own group wins over one above it.
  for (const auto& [mount, group] : seen)
    if (!path.empty() && !group.folder.empty() && (found.folder.empty() || (group.own && !found.own))) found = group;
  if (found.folder.empty()) return {};
  found.folder = root + found.folder;
  found.mount = root + found.mount;
  return found;
}

double cpuLimit(const std::string& root) {
  const ControlGroup group = controlGroup("cpu", root);
  return least(group, [&](const std::string& folder) {
    // Version 1: a quota of -1 means no limit, and is not positive.
    if (!group.second_version)
      return numberIn(folder + "/cpu.cfs_quota_us") / std::max(1.0, numberIn(folder + "/cpu.cfs_period_us"));
    // Version 2: "max 100000" or "QUOTA PERIOD", in microseconds.
    const std::string text = readText(folder + "/cpu.max").value_or("");
    const auto [quota, period] = StringRef(text).split(' ');
    return number(quota) / std::max(1.0, number(period));
  });
}

uint64_t memoryLimit(const std::string& root) {
  const ControlGroup group = controlGroup("memory", root);
  const char* file = group.second_version ? "/memory.max" : "/memory.limit_in_bytes";
  const double bytes = least(group, [&](const std::string& folder) { return numberIn(folder + file); });
  constexpr double kNone = 1ull << 62;  // version 1 means "no limit" by a number near 2^63
  return bytes < kNone ? uint64_t(bytes) : 0;
}

}  // namespace expc::base
