#include "tests/fuzz/agents.h"

#include <fcntl.h>
#include <llvm/ADT/StringExtras.h>
#include <unistd.h>

#include "runtime/base/descriptor.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/engine/nodes/agent.h"
#include "tests/fuzz/twice.h"

namespace expc::fuzz {
namespace {

void receive(StringRef bytes) {
  int ends[2];
  hold(pipe2(ends, O_CLOEXEC) == 0, "a pipe can be made");
  const auto sent = size_t(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) > 0 ? 1 << 20 : 1 << 12);
  (void)::write(ends[1], bytes.data(), std::min(bytes.size(), sent));
  close(ends[1]);
  engine::nodes::Lines lines(base::Descriptor(ends[0]), {});
  for (int call = 0; lines.isOpen(); ++call) {
    lines.receive(1000);
    hold(call <= 2000, "what has ended is closed");
  }
}

}  // namespace

void readAgentWords(const std::string& bytes) {
  receive(bytes);
  for (StringRef line : llvm::split(bytes, '\n')) {
    receive(("@expc " + line + "\n").str());
    auto value = base::parseJson(line);
    if (!worked(value)) continue;
    readTwice(*value, readRecord<engine::nodes::Introduction>);
    readTwice(*value, readRecord<engine::nodes::CopyTask>);
    readTwice(*value, readRecord<engine::nodes::AgentTask>);
    readTwice(*value, readRecord<engine::launch::TrialRequest>);
    readTwice(*value, readRecord<engine::launch::RankReport>);
  }
}

}  // namespace expc::fuzz
