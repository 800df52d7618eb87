#include "runtime/report/python.h"

#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Program.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "runtime/base/descriptor.h"
#include "runtime/base/process.h"

namespace expc::report {
namespace {

constexpr int kLacking = 3;

/// What a child opens as its own.
std::string ofChild(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

}  // namespace

std::string lackingText(const Package& package) {
  return fmt::format("it needs {} (tools/setup, or `pip install 'expc[{}]'` where pip installed expc); {}",
                     package.name, package.extra, package.without);
}

llvm::Error runPython(std::string_view script, const std::vector<std::string>& arguments,
                      llvm::function_ref<void(llvm::raw_ostream& in)> feed, const Package& package, unsigned seconds) {
  const std::string set_up = (base::programFolder() / EXPC_SETUP_PYTHON).string();
  const std::string pips = (base::programFolder() / "../../../../../bin").string();  // from site-packages/expc/bin
  const auto python = llvm::sys::findProgramByName("python", {set_up, pips});
  if (!python) return llvm::createStringError(lackingText(package));
  base::Pipe in, said;
  if (in.read < 0 || said.read < 0) return llvm::createStringError(std::strerror(errno));
  std::vector<llvm::StringRef> words{*python, "-c", script};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::string from = ofChild(in.read), to = ofChild(said.write);
  std::string problem;
  bool failed = false;
  const llvm::sys::ProcessInfo child =
      llvm::sys::ExecuteNoWait(*python, words, std::nullopt,
                               {llvm::StringRef(from), llvm::StringRef(), llvm::StringRef(to)}, 0, &problem, &failed);
  if (failed) return llvm::createStringError(problem);
  in.read.close();
  said.write.close();
  {
    llvm::raw_fd_ostream out(in.write, /*shouldClose=*/false);
    feed(out);
    out.flush();
    out.clear_error();  // one that ends before it has read all says why
  }
  in.write.close();
  const int code = llvm::sys::Wait(child, seconds, &problem).ReturnCode;
  std::string text;
  char part[4096];
  for (ssize_t got; (got = ::read(said.read, part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(got));
  if (code == 0) return llvm::Error::success();
  if (code == kLacking) return llvm::createStringError(lackingText(package));
  if (problem.empty()) problem = llvm::StringRef(text).rtrim().str();
  return llvm::createStringError(problem.substr(problem.rfind('\n') + 1));  // of a traceback the error
}

}  // namespace expc::report
