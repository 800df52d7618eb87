#include "runtime/protocol/trial.h"

#include <doctest/doctest.h>

#include <cmath>

#include "runtime/base/json_record.h"

using namespace expc::base;
using namespace expc::protocol;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

namespace {

TrialSpec exampleSpec() {
  TrialSpec spec;
  spec.trial = "17";
  spec.point = "0123456789abcdef";
  spec.workload = "image.mobilenet_v2";
  spec.settings = Object{{"steps", 20}, {"warmup", 5}};
  spec.parameters = Object{{"gpus", 2}, {"width", 0.5}};
  spec.root = "/data/ü";
  spec.seed = 18446744073709551615u;
  spec.metrics = {"step_time", "images_per_s"};
  spec.world_size = 2;
  spec.slots = Array{Object{{"device", "cpu"}, {"cores", Array{0}}}, Object{{"device", "cpu"}, {"cores", Array{1}}}};
  return spec;
}

template <typename T>
Value toJson(const T& record) {
  return written(record);
}
auto trialSpecFromJson(const Value& value) { return readRecord<TrialSpec>(value, "the trial's specification"); }
auto launchRequestFromJson(const Value& value) { return readRecord<LaunchRequest>(value, "the launch request"); }
auto launchReplyFromJson(const Value& value) { return readRecord<LaunchReply>(value, "the launch reply"); }

template <typename T>
std::string refusal(llvm::Expected<T> result) {
  if (result) return "(accepted)";
  return llvm::toString(result.takeError());
}

}  // namespace

TEST_CASE("a trial's specification comes back") {
  const Value json = toJson(exampleSpec());
  const TrialSpec back = llvm::cantFail(trialSpecFromJson(llvm::cantFail(parseJson(canonicalJson(json)))));
  CHECK(toJson(back) == json);
  CHECK(back.seed == 18446744073709551615u);
}

TEST_CASE("a command comes back with its folder") {
  TrialSpec spec = exampleSpec();
  spec.command.emplace();
  spec.command->arguments = {"train", "${gpus}"};
  spec.command->timeout_seconds = 2.5;
  spec.command->inputs = {"src/**"};
  spec.command->metrics = {{"loss", CommandMetric::From::Csv, "log.csv", "loss", 1e-3, true}};
  spec.folder = "/results/trials/17";
  const TrialSpec back = llvm::cantFail(trialSpecFromJson(toJson(spec)));
  CHECK(toJson(back) == toJson(spec));
  CHECK(back.command->metrics[0].series);
  CHECK(back.folder == spec.folder);
  spec.folder = "trials/17";
  CHECK(refusal(trialSpecFromJson(toJson(spec))).find("$.folder: an absolute path is needed") != std::string::npos);
  spec.folder = "/x";
  spec.command->arguments.clear();
  CHECK(refusal(trialSpecFromJson(toJson(spec))).find("$.command.arguments: a command needs a program") !=
        std::string::npos);
  Object object = *toJson(exampleSpec()).getAsObject();
  object["folder"] = "/x";
  CHECK(refusal(trialSpecFromJson(std::move(object))).find("folder") != std::string::npos);
}

TEST_CASE("a specification that no worker could run is refused") {
  TrialSpec spec = exampleSpec();
  spec.world_size = 3;
  CHECK(refusal(trialSpecFromJson(toJson(spec))) ==
        "the trial's specification cannot be read: $.slots: 2 slots for 3 ranks");
  Object object = *toJson(exampleSpec()).getAsObject();
  object["v"] = 2;
  CHECK(refusal(trialSpecFromJson(Object(object))).find("$.v: this program reads version 1, found 2") !=
        std::string::npos);
  const Object whole = *toJson(exampleSpec()).getAsObject();
  for (const auto& member : whole) {
    Object without = whole;
    without.erase(member.first);
    const std::string key = llvm::StringRef(member.first).str();
    CAPTURE(key);
    CHECK(refusal(trialSpecFromJson(std::move(without))).find("$." + key + ": missing") != std::string::npos);
  }
}

TEST_CASE("launch messages come back") {
  LaunchRequest request{7, 1, {"RANK=1", "EMPTY="}, exampleSpec()};
  CHECK(toJson(llvm::cantFail(launchRequestFromJson(toJson(request)))) == toJson(request));
  request.rank = 2;
  CHECK(refusal(launchRequestFromJson(toJson(request))).find("$.rank: rank 2 of 2") != std::string::npos);
  request.rank = 0;
  request.environment = {"RANK"};
  CHECK(refusal(launchRequestFromJson(toJson(request))).find("'RANK' is not NAME=value") != std::string::npos);
  CHECK(refusal(launchRequestFromJson(Value(nullptr))).find("$: expected an object") != std::string::npos);

  for (const LaunchReply& reply : {LaunchReply{}, LaunchReply{LaunchReply::Type::Started, 7, 99, 0, 0, ""},
                                   LaunchReply{LaunchReply::Type::Exited, 7, 99, 139, 1234.5, ""},
                                   LaunchReply{LaunchReply::Type::Exited, 7, 99, 9, 1234.5, "oom_kill 1"}}) {
    const LaunchReply back = llvm::cantFail(launchReplyFromJson(toJson(reply)));
    CHECK(back.type == reply.type);
    CHECK(back.id == reply.id);
    CHECK(back.pid == reply.pid);
    CHECK(back.status == reply.status);
    CHECK(back.at == reply.at);
    CHECK(back.out_of_memory == reply.out_of_memory);
  }
  CHECK(refusal(launchReplyFromJson(Object{{"v", 1}, {"reply", "gone"}})).find("'gone' is none of ready") !=
        std::string::npos);
}

TEST_CASE("events come back from their lines") {
  Event progress;
  progress.type = Event::Type::Progress;
  progress.done = 3;
  progress.total = 20;
  progress.phase = "steps";
  CHECK(toLine(progress) == R"({"done":3,"event":"progress","phase":"steps","total":20,"v":1})");
  const Event back = llvm::cantFail(eventFromLine(toLine(progress)));
  CHECK(back.done == 3);
  CHECK(back.phase == "steps");

  Event result;
  result.type = Event::Type::Result;
  result.metrics = Object{{"step_time", 0.0123}, {"device_memory_peak", nullptr}};
  result.series = Object{{"loss", Array{2.5, 1.25}}};
  result.environment = Object{{"threads", 1}};
  result.notes = {"a note with a\nline break", Note(Note::LeftBehind, "", 2), Note(Note::ReadBefore, "rate", 0, "n/a"),
                  Note(Note::Leaked, "evaluation_loss", 4, "held-out row", 40)};
  const std::string line = toLine(result);
  CHECK(line.find('\n') == std::string::npos);
  const Event read = llvm::cantFail(eventFromLine(line));
  CHECK(read.metrics == result.metrics);
  CHECK(read.series == result.series);
  CHECK(read.environment == result.environment);
  CHECK(read.notes == result.notes);
  CHECK(line.find(R"("notes":["a note with a\nline break",{"code":"left_behind","number":2},)") != std::string::npos);
  result.notes = {Note(Note::Diverged, "loss", std::nan(""))};
  CHECK(std::isnan(llvm::cantFail(eventFromLine(toLine(result))).notes.at(0).number));

  Event failed;
  failed.type = Event::Type::Failed;
  failed.reason = "data/digits: \xff";
  CHECK(llvm::cantFail(eventFromLine(toLine(failed))).reason == "data/digits: \xef\xbf\xbd");
}

TEST_CASE("what a rehearsal counted comes back, and nothing else is taken for it") {
  Rehearsed rehearsed;
  rehearsed.steps = 2;
  RehearsedRank rank;
  rank.host_memory = 1 << 30;
  rank.device_memory_allocated = 17, rank.device_memory_reserved = 18;
  rank.launches = 300, rank.synchronisations = 2;
  rank.to_device = {4, 4096}, rank.from_device = {1, 8}, rank.within_devices = {2, 64};
  rank.collectives["all_reduce"] = {3, 1 << 20};
  rank.host_seconds = 0.25;
  rank.operations["bf16"] = 1e15;
  rank.memory_bytes = 5e12;
  rehearsed.ranks = {rank, RehearsedRank{}};
  Event event;
  event.type = Event::Type::Result;
  event.rehearsed = rehearsed;
  const Event back = llvm::cantFail(eventFromLine(toLine(event)));
  REQUIRE(back.rehearsed);
  CHECK(written(*back.rehearsed) == written(rehearsed));
  CHECK(back.rehearsed->ranks[0].collectives.at("all_reduce").bytes == 1 << 20);

  const auto read = [](llvm::StringRef text) {
    return llvm::toString(readRecord<Rehearsed>(llvm::cantFail(parseJson(text)), "the rehearsal").takeError());
  };
  CHECK(read(R"({"steps":0,"ranks":[]})").find("steps") != std::string::npos);
  CHECK(read(R"({"steps":1,"ranks":[]})").find("at least one rank") != std::string::npos);
  CHECK(read(R"({"steps":1,"ranks":[{}]})").find("$.ranks[0].host_memory: missing") != std::string::npos);
  CHECK(read(R"({"steps":1,"ranks":["x"]})").find("$.ranks[0]") != std::string::npos);
}

TEST_CASE("a value that is not finite stays a value, and is not taken for an absent one") {
  Event result;
  result.type = Event::Type::Result;
  result.metrics = Object{{"final_loss", std::nan("")}, {"low", -HUGE_VAL}, {"absent", nullptr}};
  result.series = Object{{"loss", Array{1, HUGE_VAL, 2}}};
  const Event back = llvm::cantFail(eventFromLine(toLine(result)));
  CHECK(std::isnan(*measuredNumber(*back.metrics.get("final_loss"))));
  CHECK(measuredNumber(*back.metrics.get("low")) == -HUGE_VAL);
  CHECK_FALSE(measuredNumber(*back.metrics.get("absent")));
  CHECK(measuredNumbers(*back.series.get("loss")) == std::vector<double>{1, HUGE_VAL, 2});
}

TEST_CASE("nonsense on the event pipe is an error") {
  CHECK(refusal(eventFromLine("Segmentation fault")).find("not a JSON event: ") == 0);
  CHECK(refusal(eventFromLine("")).find("not a JSON event: ") == 0);
  CHECK(refusal(eventFromLine("[]")).find("expected an object") != std::string::npos);
  CHECK(refusal(eventFromLine(R"({"v":9,"event":"started"})")).find("this program reads version 1") !=
        std::string::npos);
  CHECK(refusal(eventFromLine(R"({"v":1,"event":"dance"})")).find("'dance' is none of started") != std::string::npos);
  CHECK(refusal(eventFromLine(R"({"v":1,"event":"result"})")).find("$.metrics: missing") != std::string::npos);
  CHECK(refusal(eventFromLine(R"({"v":1,"event":"result","metrics":{"a":"fast"}})"))
            .find("$.metrics.a: is not a number") != std::string::npos);
  CHECK(refusal(eventFromLine(R"({"v":1,"event":"result","metrics":{"a":"NAN"}})")).find("$.metrics.a") !=
        std::string::npos);
  CHECK(refusal(eventFromLine(std::string(100000, '['))).find("nested deeper") != std::string::npos);
  // Members that this reader does not know are left alone.
  CHECK(refusal(eventFromLine(R"({"v":1,"event":"started","pid":12})")) == "(accepted)");
}
