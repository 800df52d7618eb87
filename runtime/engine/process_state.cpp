#include "runtime/engine/process_state.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

namespace expc::engine {
namespace {

constexpr int kLooks = 500;
constexpr useconds_t kBetween = 10'000;  // 5 s in all

}  // namespace

char processState(pid_t pid, const std::string& proc) {
  if (pid <= 0) return '\0';
  std::ifstream in(fmt::format("{}/{}/stat", proc, pid));
  std::string text;
  std::getline(in, text, '\0');
  const size_t end = text.rfind(')');  // "12 (name) S 1 …", where the name may hold anything
  const char state = end == std::string::npos || end + 2 >= text.size() ? '\0' : text[end + 2];
  return state == 'Z' || state == 'X' ? '\0' : state;
}

bool waitUntilGone(pid_t pid, const std::string& proc) {
  for (int look = 1; processState(pid, proc) != '\0'; ++look) {
    if (look == kLooks) return false;
    usleep(kBetween);
  }
  return true;
}

std::string stuckText(pid_t pid, const std::string& proc) {
  const char state = processState(pid, proc);
  if (state == '\0') return fmt::format("process {}", pid);
  return fmt::format("process {}, in state {}{}", pid, state,
                     state == 'D' ? " (it waits for a device or a file system that does not answer)" : "");
}

}  // namespace expc::engine
