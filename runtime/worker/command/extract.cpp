#include "runtime/worker/command/extract.h"

#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cstdio>

#include "runtime/files/files.h"
#include "runtime/plan/described.h"
#include "runtime/plan/trial.h"
#include "runtime/worker/command/kept_output.h"
#include "runtime/worker/command/metrics.h"
#include "runtime/worker/command/readers.h"

namespace expc::command {
namespace {

constexpr uint64_t kMostQuestion = 16ull << 20;

struct Question {
  plan::Command command;
  std::vector<std::string> metrics, outputs;
  std::string root;
};

llvm::Expected<Question> readQuestion(const char* path) {
  auto file = readFile(path, kMostQuestion);
  if (!file) return file.takeError();
  auto value = plan::parseJson((*file)->getBuffer());
  if (!value) return value.takeError();
  return plan::readRecord<Question>(*value, "the question", [](plan::JsonRecord& io, Question& question) {
    io.field("metrics", question.metrics);
    io.field("outputs", question.outputs);
    io.field("root", question.root);
    io.object("command", question.command, plan::kDescribed);
  });
}

bool isRead(const Question& question, const std::string& file) {
  const auto reads = [&](const plan::CommandMetric& metric) {
    return (metric.file.empty() ? kOutput : metric.file) == file;
  };
  const std::vector<std::string>& asked = question.metrics;
  return std::any_of(question.command.metrics.begin(), question.command.metrics.end(),
                     [&](const plan::CommandMetric& metric) {
                       return reads(metric) && std::find(asked.begin(), asked.end(), metric.name) != asked.end();
                     }) ||
         std::any_of(question.command.expectations.begin(), question.command.expectations.end(),
                     [&](const plan::Expectation& expectation) { return reads(expectation.read); });
}

llvm::Expected<plan::Event> readOne(const Question& question, const MetricReader& reader, const std::string& output) {
  const files::TemporaryFolder scratch("expc-extract-XXXXXX");
  if (scratch.path().empty()) return failure("no temporary folder can be made in TMPDIR");
  const std::string folder = scratch.path() + "/trial";
  auto kept = unpackOutput(output, folder);
  if (!kept) return kept.takeError();
  for (const std::string& file : kept->left_out)
    if (isRead(question, file)) return failure("'{}' was too large to be kept", file);
  plan::Event result;
  result.type = plan::Event::Type::Result;
  const auto next = [](const plan::CommandMetric&) {};
  auto error = reader.verify(folder, question.root, next);
  if (!error) error = reader.read(folder, kept->end, result, next);
  if (error) return error;
  return result;
}

}  // namespace

int extract(const char* path) {
  auto question = readQuestion(path);
  if (!question) {
    std::fprintf(stderr, "%s: %s\n", path, llvm::toString(question.takeError()).c_str());
    return 2;
  }
  auto reader = MetricReader::make(question->command, question->metrics);
  if (!reader) {
    std::puts(llvm::toString(reader.takeError()).c_str());
    return 1;
  }
  for (const std::string& output : question->outputs) {
    auto event = readOne(*question, *reader, output);
    plan::Event failure;
    failure.type = plan::Event::Type::Failed;
    if (!event) failure.reason = llvm::toString(event.takeError());
    std::puts(plan::toLine(event ? *event : failure).c_str());
  }
  return 0;
}

}  // namespace expc::command
