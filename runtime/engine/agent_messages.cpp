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

#include "runtime/plan/json.h"

namespace expc::engine {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;
using plan::JsonErrors;
using plan::JsonFields;
using plan::jsonText;
using plan::jsonTexts;

namespace {

constexpr llvm::StringLiteral kWhats[] = {"started", "said", "nonsense", "exited", "readings", "lost"};
constexpr unsigned kMostRanks = 1 << 16;

std::vector<int> numbers(JsonErrors& errors, JsonFields& in, llvm::StringRef key) {
  std::vector<int> all;
  in.each(key, [&](const Value& value, const plan::JsonPath& at) {
    if (const auto number = value.getAsInteger(); number && *number > 0 && *number <= INT32_MAX)
      all.push_back(static_cast<int>(*number));
    else
      errors.add(at, "expected the number of a process");
  });
  return all;
}

}  // namespace

llvm::Error writeMeetingPlace(const std::string& path, const MeetingPlace& place) {
  const std::string text =
      plan::canonicalJson(Object{{"addresses", jsonTexts(place.addresses)}, {"secret", place.secret}}) + "\n";
  unlink(path.c_str());
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool whole = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  if (fd >= 0) close(fd);
  if (whole) return llvm::Error::success();
  return llvm::createStringError(fmt::format("{}: {}", path, std::strerror(error)));
}

llvm::Expected<MeetingPlace> readMeetingPlace(const std::string& path) {
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return llvm::createStringError(fmt::format(
        "{}: {}. All nodes need the results folder at the same path: put it on a file system that they share", path,
        text.getError().message()));
  auto value = plan::parseJson(std::string_view((*text)->getBuffer()));
  if (!value) return value.takeError();
  JsonErrors errors;
  const plan::JsonPath root;
  JsonFields in(errors, *value, root);
  MeetingPlace place{in.strings("addresses"), in.string("secret")};
  in.refuseOthers();
  if (errors.any()) return errors.take(path);
  return place;
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

Object toJson(const AgentTask& task) {
  return Object{{"built_in", jsonText(task.built_in)},
                {"command", jsonText(task.command)},
                {"environment", jsonTexts(task.environment)},
                {"log", jsonText(task.log)},
                {"watch_cards", task.watch_cards},
                {"lanes", task.lanes},
                {"devices", task.devices},
                {"locks", jsonText(task.locks)},
                {"owner", jsonText(task.owner)}};
}

llvm::Expected<AgentTask> agentTaskFromJson(const Value& value) {
  JsonErrors errors;
  const plan::JsonPath root;
  JsonFields in(errors, value, root);
  AgentTask task;
  task.built_in = in.string("built_in");
  task.command = in.string("command");
  task.environment = in.strings("environment");
  task.log = in.string("log");
  task.watch_cards = in.boolean("watch_cards");
  task.lanes = in.small("lanes", 1, kMostRanks);
  task.devices = in.string("devices");
  task.locks = in.string("locks");
  task.owner = in.string("owner");
  in.refuseOthers();
  if (errors.any()) return errors.take("what the engine asks");
  return task;
}

Object toJson(const TrialRequest& request) {
  Array environment;
  for (const std::vector<std::string>& variables : request.environment) environment.push_back(jsonTexts(variables));
  return Object{{"spec", plan::toJson(request.spec)},
                {"environment", std::move(environment)},
                {"log_prefix", jsonText(request.log_prefix)},
                {"first_rank", request.first_rank},
                {"ranks", request.ranks}};
}

llvm::Expected<TrialRequest> trialRequestFromJson(const Value& value) {
  JsonErrors errors;
  const plan::JsonPath root;
  JsonFields in(errors, value, root);
  TrialRequest request;
  const Value* spec = in.value("spec");
  in.each("environment", [&](const Value& variables, const plan::JsonPath& at) {
    std::vector<std::string>& own = request.environment.emplace_back();
    const Array* all = variables.getAsArray();
    if (!all) return errors.add(at, "expected an array");
    for (const Value& one : *all) own.push_back(one.getAsString().value_or("").str());
  });
  request.log_prefix = in.string("log_prefix");
  request.first_rank = in.small("first_rank", 0, kMostRanks);
  request.ranks = in.small("ranks", 0, kMostRanks);
  in.refuseOthers();
  if (errors.any()) return errors.take("a trial for this node");
  auto read = plan::trialSpecFromJson(spec ? *spec : Value(nullptr));
  if (!read) return read.takeError();
  request.spec = std::move(*read);
  if (request.environment.size() != request.spec.world_size || request.first_rank > request.spec.world_size ||
      request.endRank() > request.spec.world_size)
    return llvm::createStringError("a trial for this node: its ranks do not agree with each other");
  return request;
}

Object toJson(const RankReport& report) {
  Object object{{"what", kWhats[static_cast<size_t>(report.what)]},
                {"trial", report.trial},
                {"rank", report.rank},
                {"pid", report.pid},
                {"at", report.at}};
  if (report.what == RankReport::What::Said) object["event"] = plan::toLine(report.event);
  if (!report.text.empty()) object["text"] = jsonText(report.text);
  if (report.status != 0) object["status"] = report.status;
  if (!report.out_of_memory.empty()) object["out_of_memory"] = jsonText(report.out_of_memory);
  if (!report.stuck.empty()) object["stuck"] = Array(report.stuck);
  if (report.readings) object["readings"] = validity::toJson(*report.readings);
  return object;
}

llvm::Expected<RankReport> rankReportFromJson(const Value& value) {
  JsonErrors errors;
  const plan::JsonPath root;
  JsonFields in(errors, value, root);
  RankReport report;
  report.what = in.word<RankReport::What>("what", kWhats);
  report.trial = in.whole("trial");
  report.rank = in.small("rank", 0, kMostRanks);
  report.pid = static_cast<int>(in.small("pid", 0, INT32_MAX));
  report.at = in.number("at");
  const std::string line = in.has("event") ? in.string("event") : "";
  if (in.has("text")) report.text = in.string("text");
  if (in.has("status")) report.status = static_cast<int>(in.small("status", 0, INT32_MAX));
  if (in.has("out_of_memory")) report.out_of_memory = in.string("out_of_memory");
  if (in.has("stuck")) report.stuck = numbers(errors, in, "stuck");
  if (in.has("readings"))
    report.readings = std::make_shared<const validity::Readings>(validity::readingsFromJson(in.object("readings")));
  in.refuseOthers();
  if (errors.any()) return errors.take("a report");
  if (report.what == RankReport::What::Readings && !report.readings)
    return llvm::createStringError("a report: readings are missing");
  if (report.what != RankReport::What::Said) return report;
  auto event = plan::eventFromLine(line);
  if (!event) return event.takeError();
  report.event = std::move(*event);
  return report;
}

}  // namespace expc::engine
