// What an engine and an agent say: how it is sent, and its fields.

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/engine/agent.h"
#include "runtime/files/files.h"
#include "runtime/plan/described.h"
#include "runtime/plan/json.h"

namespace expc::engine {
namespace {

using llvm::json::Object;
using plan::JsonRecord;

constexpr llvm::StringLiteral kMark = "@expc ";
constexpr llvm::StringLiteral kWhats[] = {"started", "said", "nonsense", "exited", "readings", "lost"};
constexpr unsigned kMostRanks = 1 << 16;

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
  io.list("copies", task.copies, [](JsonRecord& one, ScratchCopy& copy) {
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
  io.field("lanes", task.lanes, 1, kMostRanks);
  io.field("devices", task.devices);
  io.field("locks", task.locks);
  io.field("owner", task.owner);
}

void describe(JsonRecord& io, TrialRequest& request) {
  io.object("spec", request.spec, plan::kDescribed);
  io.field("environment", request.environment);
  io.field("log_prefix", request.log_prefix);
  io.field("first_rank", request.first_rank, 0, kMostRanks);
  io.field("ranks", request.ranks, 0, kMostRanks);
  if (io.reads() && !io.failed() &&
      (request.environment.size() != request.spec.world_size || request.first_rank > request.spec.world_size ||
       request.endRank() > request.spec.world_size))
    io.fail("its ranks do not agree with each other");
}

void describe(JsonRecord& io, RankReport& report) {
  io.word("what", report.what, kWhats);
  io.field("trial", report.trial);
  io.field("rank", report.rank, 0, kMostRanks);
  io.field("pid", report.pid);
  io.field("at", report.at);
  io.optional("text", report.text);
  io.optional("status", report.status);
  io.optional("out_of_memory", report.out_of_memory);
  io.optional("stuck", report.stuck);
  if (report.what == RankReport::What::Said) {
    std::string line = io.reads() ? "" : plan::toLine(report.event);
    io.field("event", line);
    if (!io.reads() || io.failed()) return;
    if (auto event = plan::eventFromLine(line))
      report.event = std::move(*event);
    else
      io.fail("event", llvm::toString(event.takeError()));
    return;
  }
  if (io.reads() && report.what == RankReport::What::Readings && !io.has("readings", true))
    return io.fail("readings", "are missing");
  io.optionalObject("readings", report.readings, plan::kDescribed);
}

}  // namespace expc::engine
