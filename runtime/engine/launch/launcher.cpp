// Event lines of ranks, and the JSON form of requests and reports. Bytes come from a user's processes or another
// machine, so every size and number is checked.

#include "runtime/engine/launch/launcher.h"

#include <algorithm>
#include <utility>

#include "runtime/base/files/words.h"
#include "runtime/base/format.h"
#include "runtime/base/json_record.h"

namespace expc::engine::launch {
namespace {

// Bytes of one event line: enough for the series of a long trial, and a bound on memory if a rank writes nonsense.
constexpr size_t kMaxLine = 64 << 20;
using What = RankReport::What;
constexpr base::Word<What> kWhats[] = {{"started", What::Started},   {"said", What::Said},
                                       {"nonsense", What::Nonsense}, {"exited", What::Exited},
                                       {"readings", What::Readings}, {"lost", What::Lost}};

}  // namespace

std::vector<RankReport> EventLines::add(std::string_view bytes) {
  std::vector<RankReport> reports;
  const auto refuse = [&](std::string why) {
    reports.push_back({.what = RankReport::Nonsense, .text = std::move(why)});
    over_ = true;
    rest_.clear();
  };
  // A line may come in many pieces, and a piece may hold many lines.
  while (!over_ && !bytes.empty()) {
    // The size is checked before the end of the line is known: a line without one must not fill the memory.
    const size_t end = bytes.find('\n');
    rest_.append(bytes.substr(0, end));
    if (rest_.size() > kMaxLine) refuse("wrote an event line without an end");
    if (over_ || end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    const std::string line = std::exchange(rest_, {});
    if (auto event = protocol::eventFromLine(line))
      reports.push_back({.what = RankReport::Said, .event = std::move(*event)});
    else
      refuse(fmt::format("wrote a line that is not an event: '{}' ({})", files::excerpt(line),
                         toString(event.takeError())));
  }
  return reports;
}

void describe(JsonRecord& io, TrialRequest& request) {
  io.required(EXPC_NAMED(request, spec, environment, log_prefix));
  io.field("first_rank", request.first_rank, 0, kMostRanks);
  io.field("ranks", request.ranks, 0, kMostRanks);
  // An agent indexes `environment` by rank, so a message whose numbers disagree is refused here.
  if (io.reads() && !io.failed() &&
      (request.environment.size() != request.spec.world_size || request.first_rank > request.spec.world_size ||
       request.endRank() > request.spec.world_size))
    io.fail("its ranks contradict each other");
}

void describe(JsonRecord& io, RankReport& report) {
  io.word("what", report.what, kWhats);
  io.field("trial", report.trial);
  io.field("rank", report.rank, 0, kMostRanks);
  io.required(EXPC_NAMED(report, pid, at));
  io.optional(EXPC_NAMED(report, text, status, out_of_memory, stuck));
  // The event travels as the line that the rank wrote, so that event.cpp alone knows its form.
  if (report.what == RankReport::Said) {
    std::string line = io.reads() ? "" : protocol::toLine(report.event);
    io.field("event", line);
    if (!io.reads() || io.failed()) return;
    if (auto event = protocol::eventFromLine(line))
      report.event = std::move(*event);
    else
      io.fail("event", toString(event.takeError()));
    return;
  }
  if (io.reads() && report.what == RankReport::Readings && !io.has("readings", true))
    return io.fail("readings", "are missing");
  io.optional("readings", report.readings);
}

}  // namespace expc::engine::launch
