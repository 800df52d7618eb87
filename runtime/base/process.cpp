#include "runtime/base/process.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <system_error>

namespace expc::base {

Process processOf(int64_t pid, const std::string& proc) {
  std::ifstream in(fmt::format("{}/{}/stat", proc, pid));
  std::string text;
  std::getline(in, text, '\0');
  Process process;
  const size_t end = text.rfind(')');  // "12 (name) S 1 …", where the name may hold anything
  if (end == std::string::npos) return process;
  std::istringstream rest(text.substr(end + 1));
  rest >> process.state >> process.parent;
  std::string skipped;
  for (int field = 5; field < 22; ++field) rest >> skipped;
  rest >> process.started;
  return process;
}

std::filesystem::path programFolder() {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
}

std::string bootId() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

}  // namespace expc::base
