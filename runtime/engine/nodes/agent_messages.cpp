// What an engine and an agent say: how it is sent, and its fields.

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/engine/nodes/agent.h"
#include "runtime/files/files.h"
#include "runtime/plan/described.h"
#include "runtime/plan/json.h"

namespace expc::engine::nodes {
namespace {

using llvm::json::Object;
using plan::JsonRecord;

constexpr llvm::StringLiteral kMark = "@expc ";

}  // namespace

bool Lines::hasPeer() const {
  pollfd ended{in_, POLLRDHUP, 0};
  return isOpen() && out_ >= 0 && poll(&ended, 1, 0) >= 0 && (ended.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0;
}

bool Lines::send(const Object& message) {
  if (files::writeAll(out_, kMark.str() + plan::canonicalJson(Object(message)) + "\n") != 0) finish();
  return out_ >= 0;
}

void Lines::keep(llvm::StringRef text) const {
  const base::Descriptor file(text.empty() || log_.empty() ? -1 : files::openLog(log_, files::Log::GoesOn));
  if (file >= 0) (void)files::writeAll(file, text.str() + "\n");
}

void Lines::take(llvm::StringRef line, std::vector<Object>& messages) const {
  const auto [before, text] = line.split(kMark);
  keep(before);
  if (!line.contains(kMark)) return;
  auto value = plan::parseJson(text);
  if (Object* message = value ? value->getAsObject() : nullptr)
    messages.push_back(std::move(*message));
  else
    messages.push_back(Object{{"error", value ? "a message is no object" : llvm::toString(value.takeError())}});
}

std::vector<Object> Lines::receive(size_t longest) {
  std::vector<Object> messages;
  char piece[65536];
  pollfd more{in_, POLLIN, 0};
  // One that speaks without end is heard again later.
  for (size_t heard = 0; isOpen() && heard <= longest && poll(&more, 1, 0) == 1;) {
    const ssize_t size = read(in_, piece, sizeof piece);
    if (size < 0 && errno == EINTR) continue;
    if (size > 0) rest_.append(piece, size);
    heard += size > 0 ? size : 0;
    size_t begin = 0;
    for (size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
      take(llvm::StringRef(rest_).slice(begin, end), messages);
    rest_.erase(0, begin);
    if (size > 0 && rest_.size() <= longest) continue;
    keep(rest_);
    in_.close();
  }
  return messages;
}

void describe(JsonRecord& io, Introduction& node) {
  io.field("name", node.name);
  io.field("address", node.address);
  io.field("interface", node.interface);
  io.object("machine", node.machine, plan::kDescribed);
}

void describe(JsonRecord& io, CopyTask& task) {
  io.list("copies", task.copies, [](JsonRecord& one, inputs::ScratchCopy& copy) {
    one.field("from", copy.from);
    one.field("to", copy.to);
    one.field("digest", copy.digest);
  });
}

void describe(JsonRecord& io, AgentTask& task) {
  io.field("built_in", task.workers.built_in);
  io.field("command", task.workers.command);
  io.field("environment", task.workers.environment);
  io.field("log", task.workers.log);
  io.field("nvml", task.workers.nvml);
  io.field("lanes", task.lanes, 1, launch::kMostRanks);
  io.field("devices", task.devices);
  io.field("locks", task.locks);
  io.field("owner", task.owner);
}

}  // namespace expc::engine::nodes
