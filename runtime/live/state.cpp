#include "runtime/live/state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "runtime/analysis/index.h"
#include "runtime/analysis/judgement.h"
#include "runtime/analysis/meaning.h"
#include "runtime/analysis/needs.h"
#include "runtime/plan/json.h"
#include "runtime/report/layout.h"
#include "runtime/report/outcome.h"
#include "runtime/report/study_text.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"
#include "runtime/store/store.h"

namespace expc::live {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

constexpr size_t kShownFailures = 5;
constexpr size_t kShownRunning = 64;
constexpr off_t kTail = 2048;    // bytes of an output
constexpr unsigned kShare = 20;  // making the state takes one of so many parts of the time

Value text(const std::string& words) { return plan::jsonText(report::printable(words)); }

/// The last lines of a file; "" where it is no plain file.
std::string tailOf(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return "";
  struct stat about{};
  std::string tail;
  if (fstat(file, &about) == 0 && S_ISREG(about.st_mode)) {
    tail.resize(static_cast<size_t>(std::min<off_t>(kTail, about.st_size)));
    const ssize_t got = ::pread(file, tail.data(), tail.size(), std::max<off_t>(0, about.st_size - kTail));
    tail.resize(static_cast<size_t>(std::max<ssize_t>(0, got)));
  }
  ::close(file);
  return tail;
}

/// Lines that a browser shows as they are, without control characters.
Value lines(const std::string& words) {
  std::string shown;
  size_t from = 0;
  while (from < words.size()) {
    const size_t end = std::min(words.find('\n', from), words.size());
    shown += report::printable(words.substr(from, end - from)) + '\n';
    from = end + 1;
  }
  return plan::jsonText(shown);
}

/// "cpu 0 (cores 0, 1)", "cuda 1 (cores 4)": the slots of a trial.
std::string devicesText(const std::string& json) {
  auto slots = plan::parseJson(json);
  if (!slots) return llvm::consumeError(slots.takeError()), "";
  std::vector<std::string> texts;
  for (const Value& slot : slots->getAsArray() ? *slots->getAsArray() : Array()) {
    const Object* one = slot.getAsObject();
    if (!one) continue;
    std::vector<std::string> cores;
    if (const Array* all = one->getArray("cores"))
      for (const Value& core : *all) cores.push_back(std::to_string(core.getAsInteger().value_or(-1)));
    texts.push_back(fmt::format("{} {} (cores {})", one->getString("device").value_or("?").str(),
                                one->getInteger("index").value_or(-1), report::joined(cores)));
  }
  return report::joined(texts);
}

/// Controls are trials too.
Array progressOf(const plan::Plan& plan, const store::Results& results, const analysis::Index& index) {
  Array all;
  for (const plan::KindDesign& design : plan.design.kinds) {
    const auto done = std::count_if(results.trials.begin(), results.trials.end(), [&](const store::Trial& trial) {
      return trial.key->kind == design.kind &&
             (trial.status == store::TrialStatus::Valid || trial.status == store::TrialStatus::Timeout ||
              trial.status == store::TrialStatus::Infeasible);
    });
    const uint64_t left = analysis::remaining(index, design.kind).trials;
    Object one{
        {"kind", std::string(toString(design.kind))}, {"done", int64_t(done)}, {"planned", int64_t(done + left)}};
    const auto seconds = index.typicalSeconds(design.kind);
    one["left"] = seconds ? plan::jsonText(report::durationText(*seconds * double(left))) : Value(nullptr);
    all.push_back(std::move(one));
  }
  return all;
}

Array criteriaOf(const plan::Plan& plan, const analysis::Judgement& judgement, const store::Results& results) {
  Array all;
  for (const analysis::CriterionResult& result : judgement.criteria) {
    const plan::Criterion* criterion = report::criterionOf(plan, result);
    if (!criterion) continue;
    Array marks, lines;
    const analysis::Meaning& meaning = analysis::meaningOf(result);
    for (const std::string& mark : report::marksOf(result)) marks.push_back(mark);
    for (const report::VerdictLine& line : report::verdictLines(plan, judgement, results, *criterion, result))
      lines.push_back(Object{{"label", line.label}, {"text", text(line.text)}, {"warns", line.warns}});
    all.push_back(Object{{"name", text(result.name)},
                         {"text", text(criterion->text)},
                         {"verdict", llvm::StringRef(meaning.word)},
                         {"style", llvm::StringRef(meaning.style)},
                         {"marks", std::move(marks)},
                         {"lines", std::move(lines)}});
  }
  return all;
}

Array failuresOf(const plan::Plan& plan, const store::Results& results) {
  std::vector<const store::Trial*> lost = report::lostTrials(results);
  std::sort(lost.begin(), lost.end(), [](const auto* a, const auto* b) { return a->id > b->id; });
  if (lost.size() > kShownFailures) lost.resize(kShownFailures);
  Array all;
  for (const store::Trial* trial : lost)
    all.push_back(Object{
        {"trial", trial->id},
        {"what", text(fmt::format("{} {}", toString(trial->key->kind), report::placeText(plan, trial->place())))},
        {"status", std::string(store::toString(trial->status))},
        {"reason", text(trial->reason)},
        {"log", lines(trial->log_tail)}});
  return all;
}

Object studyOf(const plan::Plan& plan, const store::Results& results) {
  const analysis::Index index(plan, results);
  const analysis::Judgement judgement = analysis::judge(index);
  return Object{{"study", text(plan.study)},
                {"null_cards", judgement.null_cards},
                {"unfinished", judgement.unfinished},
                {"verdicts", text(report::tallyText(judgement))},
                {"progress", progressOf(plan, results, index)},
                {"criteria", criteriaOf(plan, judgement, results)},
                {"failed", failuresOf(plan, results)}};
}

/// What a trial wrote so far: of a command its outputs, of a worker its log.
std::string outputOf(const std::string& folder, const store::Trial& trial) {
  const std::string own = fmt::format("{}/trials/{}/", folder, trial.id);
  for (const char* name : {"stderr.txt", "stdout.txt", "expc.0.log"})
    if (std::string tail = tailOf(own + name); !tail.empty()) return tail;
  return "";
}

}  // namespace

State::State(std::vector<plan::Plan> plans, std::string folder)
    : plans_(std::move(plans)), folder_(std::move(folder)) {}

llvm::Error State::refresh() {
  auto journals = store::listJournals(folder_);
  if (!journals) return journals.takeError();
  uint64_t bytes = 0;
  for (const store::JournalFile& journal : *journals) bytes += journal.bytes + journal.ignored;
  const auto now = std::chrono::steady_clock::now();
  if (bytes == recorded_ || now < not_before_) return llvm::Error::success();
  std::vector<std::string> messages;
  auto store = store::Store::openForReading(folder_, messages);
  if (!store) return store.takeError();
  auto unended = store->unendedTrials();
  if (!unended) return unended.takeError();
  Array studies;
  for (const plan::Plan& plan : plans_) {
    auto results = store->load(plan);
    if (!results) return results.takeError();
    Object study = studyOf(plan, *results);
    Array running;
    for (const store::Trial& trial : *unended) {
      if (!plan.findPoint(trial.place().point) || running.size() == kShownRunning) continue;
      running.push_back(Object{
          {"trial", trial.id},
          {"what", text(fmt::format("{} {}", toString(trial.key->kind), report::placeText(plan, trial.place())))},
          {"attempt", trial.attempt},
          {"started", trial.started},
          {"devices", text(devicesText(trial.devices))},
          {"log", lines(outputOf(folder_, trial))}});
    }
    study["running"] = std::move(running);
    studies.push_back(std::move(study));
  }
  studies_ = std::move(studies);
  recorded_ = bytes;
  not_before_ = now + kShare * (std::chrono::steady_clock::now() - now);
  return llvm::Error::success();
}

std::string State::json() {
  error_.clear();
  if (auto error = refresh()) error_ = report::printable(llvm::toString(std::move(error)));
  for (Value& study : studies_)
    for (Value& running : *study.getAsObject()->getArray("running")) {
      Object& trial = *running.getAsObject();
      store::Trial named;
      named.id = *trial.getInteger("trial");
      trial["log"] = lines(outputOf(folder_, named));
    }
  Object state{{"schema", "expc.live/1"},
               {"now", static_cast<double>(std::time(nullptr))},
               {"error", error_.empty() ? Value(nullptr) : plan::jsonText(error_)},
               {"studies", Array(studies_)}};
  return plan::canonicalJson(std::move(state));
}

}  // namespace expc::live
