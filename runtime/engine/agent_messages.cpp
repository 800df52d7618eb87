#include "runtime/engine/agent_messages.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/files/files.h"
#include "runtime/plan/described.h"

namespace expc::engine {

using llvm::json::Object;
using llvm::json::Value;
using plan::JsonRecord;

namespace {

constexpr llvm::StringLiteral kWhats[] = {"started", "said", "nonsense", "exited", "readings", "lost"};
constexpr unsigned kMostRanks = 1 << 16;

void describePlace(JsonRecord& io, MeetingPlace& place) {
  io.field("addresses", place.addresses);
  io.field("secret", place.secret);
}

void describeTask(JsonRecord& io, AgentTask& task) {
  io.field("built_in", task.built_in);
  io.field("command", task.command);
  io.field("environment", task.environment);
  io.field("log", task.log);
  io.field("watch_cards", task.watch_cards);
  io.field("lanes", task.lanes, 1, kMostRanks);
  io.field("devices", task.devices);
  io.field("locks", task.locks);
  io.field("owner", task.owner);
}

void describeRequest(JsonRecord& io, TrialRequest& request) {
  io.object("spec", request.spec, plan::kDescribed);
  io.field("environment", request.environment);
  io.field("log_prefix", request.log_prefix);
  io.field("first_rank", request.first_rank, 0, kMostRanks);
  io.field("ranks", request.ranks, 0, kMostRanks);
}

void describeReport(JsonRecord& io, RankReport& report) {
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
  if (!io.has("readings", report.readings != nullptr)) {
    if (io.reads() && report.what == RankReport::What::Readings) io.fail("readings", "are missing");
    return;
  }
  Object readings = io.reads() ? Object() : validity::toJson(*report.readings);
  io.field("readings", readings);
  if (io.reads()) report.readings = std::make_shared<const validity::Readings>(validity::readingsFromJson(readings));
}

}  // namespace

llvm::Error writeMeetingPlace(const std::string& path, const MeetingPlace& place) {
  const std::string text = plan::canonicalJson(JsonRecord::written(place, describePlace)) + "\n";
  unlink(path.c_str());
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool whole = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  if (fd >= 0) close(fd);
  if (whole) return llvm::Error::success();
  return llvm::createStringError(fmt::format("{}: {}", path, std::strerror(error)));
}

llvm::Expected<MeetingPlace> readMeetingPlace(const std::string& path) {
  auto text = files::read(path);
  if (!text)
    return llvm::createStringError(
        fmt::format("{}. All nodes need the results folder at the same path: put it on a file system that they share",
                    llvm::toString(text.takeError())));
  auto value = plan::parseJson(std::string_view((*text)->getBuffer()));
  if (!value) return value.takeError();
  return plan::readRecord<MeetingPlace>(*value, path, describePlace);
}

std::string randomWord() {
  uint8_t bytes[16] = {};
  // So few bytes come whole, once the kernel has any.
  while (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
  }
  return llvm::toHex(bytes, true);
}

std::string proofOf(std::string_view secret, std::string_view who, std::string_view asked, std::string_view answered) {
  llvm::BLAKE3 hasher;
  // Lengths first, so that no two lists of words are one text.
  for (const std::string_view word : {secret, who, asked, answered}) {
    hasher.update(fmt::format("{}:", word.size()));
    hasher.update(llvm::StringRef(word.data(), word.size()));
  }
  return llvm::toHex(hasher.final(), true);
}

Object toJson(const AgentTask& task) { return plan::JsonRecord::written(task, describeTask); }

llvm::Expected<AgentTask> agentTaskFromJson(const Value& value) {
  return plan::readRecord<AgentTask>(value, "what the engine asks", describeTask);
}

Object toJson(const TrialRequest& request) { return plan::JsonRecord::written(request, describeRequest); }

llvm::Expected<TrialRequest> trialRequestFromJson(const Value& value) {
  auto request = plan::readRecord<TrialRequest>(value, "a trial for this node", describeRequest);
  if (request && (request->environment.size() != request->spec.world_size ||
                  request->first_rank > request->spec.world_size || request->endRank() > request->spec.world_size))
    return llvm::createStringError("a trial for this node: its ranks do not agree with each other");
  return request;
}

Object toJson(const RankReport& report) { return plan::JsonRecord::written(report, describeReport); }

llvm::Expected<RankReport> rankReportFromJson(const Value& value) {
  return plan::readRecord<RankReport>(value, "a report", describeReport);
}

}  // namespace expc::engine
