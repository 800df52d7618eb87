#include "runtime/store/lease_holder.h"

#include <fmt/format.h>
#include <llvm/ADT/ArrayRef.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <utility>

#include "runtime/base/process.h"
#include "runtime/plan/json.h"
#include "runtime/plan/plan.h"

namespace expc::store {
namespace {

// Of statfs(2), for file systems of which one machine alone has the disk: ext2 to ext4, xfs, btrfs, tmpfs, overlay,
// zfs, f2fs, bcachefs. All others may be shared.
constexpr uint32_t kOfOneMachine[] = {0xef53,     0x58465342, 0x9123683e, 0x01021994,
                                      0x794c7630, 0x2fc12fc1, 0xf2f52010, 0xca451a4e};
constexpr size_t kLongestText = 200;

constexpr std::pair<llvm::StringLiteral, std::string LeaseHolder::*> kTexts[] = {
    {"host", &LeaseHolder::host},
    {"boot_id", &LeaseHolder::boot_id},
    {"machine_id", &LeaseHolder::machine_id},
    {"pid_namespace", &LeaseHolder::pid_namespace},
    {"purpose", &LeaseHolder::purpose},
    {"token", &LeaseHolder::token}};

bool isOfOneMachine(const std::string& folder) {
  struct statfs system{};
  return statfs(folder.c_str(), &system) == 0 && llvm::is_contained(kOfOneMachine, uint32_t(system.f_type));
}

/// A zombie holds nothing any more.
bool isRunning(const LeaseHolder& holder) {
  const base::Process process = base::processOf(holder.pid);
  return process.runs() && process.started == holder.start_ticks;
}

/// As it can be shown, whoever wrote it.
std::string shown(std::optional<llvm::StringRef> text) {
  std::string result = text.value_or("").take_front(kLongestText).str();
  std::replace_if(result.begin(), result.end(), [](char c) { return uint8_t(c) < 0x20 || c == 0x7f; }, '?');
  return result;
}

}  // namespace

LeaseHolder LeaseHolder::self(std::string_view purpose) {
  LeaseHolder holder;
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  holder.host = name;
  holder.boot_id = base::bootId();
  std::ifstream("/etc/machine-id") >> holder.machine_id;
  const ssize_t size = readlink("/proc/self/ns/pid", name, sizeof name - 1);
  holder.pid_namespace = std::string(name, size > 0 ? size : 0);
  holder.pid = getpid();
  holder.start_ticks = base::processOf(holder.pid).started;
  holder.purpose = purpose;
  std::random_device random;
  holder.token = fmt::format("{:08x}{:08x}", random(), random());
  return holder;
}

LeaseHolder LeaseHolder::fromText(std::string_view text) {
  LeaseHolder holder;
  const auto value = llvm::expectedToOptional(plan::parseJson(text));
  const llvm::json::Object* object = value ? value->getAsObject() : nullptr;
  if (!object) return holder;
  for (const auto& [name, member] : kTexts) holder.*member = shown(object->getString(name));
  holder.pid = object->getInteger("pid").value_or(0);
  holder.start_ticks = uint64_t(object->getInteger("start_ticks").value_or(0));
  return holder;
}

std::string LeaseHolder::toText() const {
  llvm::json::Object object{{"pid", pid}, {"start_ticks", int64_t(start_ticks)}};
  for (const auto& [name, member] : kTexts) object[name] = plan::jsonText(this->*member);
  return plan::canonicalJson(std::move(object)) + "\n";
}

std::string LeaseHolder::name() const {
  if (pid <= 0) return "an unknown process (the lease file is damaged)";
  return fmt::format("process {} on host {}", pid, host);
}

Sign signOf(const LeaseHolder& holder, const std::string& folder) {
  const LeaseHolder self = LeaseHolder::self("");
  if (holder.pid <= 0 || holder.host != self.host || holder.pid_namespace != self.pid_namespace) return Sign::Elsewhere;
  if (holder.boot_id == self.boot_id) return isRunning(holder) ? Sign::Lives : Sign::Gone;
  return holder.machine_id == self.machine_id && isOfOneMachine(folder) ? Sign::Gone : Sign::Elsewhere;
}

}  // namespace expc::store
