#include "runtime/worker/command/out_of_memory.h"

#include <fstream>
#include <iterator>

#include "runtime/worker/command/excerpt.h"

namespace expc::command {
namespace {

/// As programs put it, in lower case: CUDA and its libraries, PyTorch, JAX, Python, C++, the system's own words.
constexpr llvm::StringLiteral kWords[] = {
    "out of memory",      "out_of_memory", "outofmemory", "cudaerrormemoryallocation", "alloc_failed",
    "resource_exhausted", "memoryerror",   "bad_alloc",   "cannot allocate memory"};

}  // namespace

std::optional<uint64_t> oomKills(llvm::StringRef text) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    uint64_t count = 0;
    if (line.consume_front("oom_kill ") && !line.trim().getAsInteger(10, count)) return count;
    text = rest;
  }
  return std::nullopt;
}

std::optional<uint64_t> oomKills() {
  std::ifstream in("/proc/vmstat");
  return oomKills(std::string((std::istreambuf_iterator<char>(in)), {}));
}

std::string outOfMemoryLine(llvm::StringRef output) {
  std::string last;  // a traceback quotes lines of the program before the exception's own
  while (!output.empty()) {
    const auto [line, rest] = output.split('\n');
    const std::string lower = line.lower();
    for (const llvm::StringRef words : kWords)
      if (lower.find(words) != std::string::npos) last = excerpt(line.trim(), 300);
    output = rest;
  }
  return last;
}

}  // namespace expc::command
