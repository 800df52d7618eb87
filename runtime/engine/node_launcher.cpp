#include "runtime/engine/node_launcher.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "runtime/engine/agent_messages.h"

namespace expc::engine {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

// Clocks of two machines run apart by less than this share.
constexpr double kDrift = 1e-4;

RankReport lostWith(const std::string& why) { return {.what = RankReport::What::Lost, .text = why, .with_node = true}; }

}  // namespace

NodeLauncher::NodeLauncher(Nodes& nodes, unsigned lanes, Say say, const Clock& clock)
    : nodes_(nodes), lanes_(lanes), say_(std::move(say)), clock_(clock) {}

llvm::Expected<uint64_t> NodeLauncher::start(const TrialRequest& request) {
  const uint64_t id = next_trial_++;
  Trial& trial = trials_[id];
  trial.ranks = request.spec.world_size;
  const unsigned each = trial.ranks / request.nodes.size();
  TrialRequest part = request;
  part.ranks = each;
  for (const unsigned node : request.nodes) {
    trial.left[node] = each;
    Node& own = nodes_.all()[node];
    if (own.lost.empty() && !own.lines.send(Object{{"start", plan::written(part)}, {"trial", id}})) lose(node, "");
    if (!own.lost.empty()) end(id, trial, lostWith(own.lost));
    part.first_rank += each;
  }
  return id;
}

/// What is left of the trial ends, too.
void NodeLauncher::end(uint64_t id, Trial& trial, RankReport report) {
  if (!trial.end) trial.end = std::move(report);
  kill(id);
}

llvm::Expected<std::vector<RankReport>> NodeLauncher::events(double until, int wake) {
  std::vector<pollfd> fds{{wake, POLLIN, 0}};
  for (const Node& node : nodes_.all()) fds.push_back({node.lines.fd(), POLLIN, 0});
  const double left = std::clamp(until - clock_.boot(), 0.0, kLongestWait);
  poll(fds.data(), fds.size(), static_cast<int>(left * 1000) + 1);
  std::vector<RankReport> reports;
  for (unsigned node = 0; node < nodes_.all().size(); ++node) read(node, reports);
  settleLost(reports);
  return reports;
}

void NodeLauncher::read(unsigned node, std::vector<RankReport>& reports) {
  Node& own = nodes_.all()[node];
  if (!own.lost.empty()) return;
  for (const Object& said : own.hear(say_))
    if (own.lost.empty()) take(node, said, reports);
  if (!own.lines.isOpen()) lose(node, "");
}

void NodeLauncher::take(unsigned node, const Object& said, std::vector<RankReport>& reports) {
  Node& own = nodes_.all()[node];
  if (const auto error = said.getString("error")) return lose(node, error->str());
  const Array* all = said.getArray("reports");
  const auto told = said.getNumber("now");
  if (!all || !told) return lose(node, "its agent said what this engine does not know: both must be of one build");
  // What came quickest tells best how far the two clocks are apart.
  const double now = clock_.boot(), ahead = *told - now;
  own.ahead = own.has_told ? std::max(own.ahead - kDrift * kLongestWait, ahead) : ahead;
  own.has_told = true;
  for (const Value& one : *all) {
    auto report = plan::readRecord<RankReport>(one, "a report");
    if (!report) return lose(node, llvm::toString(report.takeError()));
    report->at = std::min(report->at - own.ahead, now);
    const auto found = trials_.find(report->trial);
    if (found == trials_.end()) continue;
    Trial& trial = found->second;
    if (report->what == RankReport::What::Lost) {
      trial.left[node] = 0;  // nothing of it is left there, and the node lives on
      end(found->first, trial, std::move(*report));
      continue;
    }
    const bool exited = report->what == RankReport::What::Exited;
    reports.push_back(std::move(*report));
    if (!exited) continue;
    if (trial.left[node] > 0) --trial.left[node];
    if (++trial.exited == trial.ranks) trials_.erase(found);
  }
}

void NodeLauncher::lose(unsigned node, std::string why) {
  Node& own = nodes_.all()[node];
  own.lines.close();
  if (!own.lost.empty()) return;
  own.lost = fmt::format("node {} was lost: {}", own.name, why.empty() ? "the connection to it has ended" : why);
  for (auto& [id, trial] : trials_) {
    if (!trial.left.count(node)) continue;
    end(id, trial, lostWith(own.lost));
  }
}

/// A trial that was lost on one node is over once nothing of it runs on the others.
void NodeLauncher::settleLost(std::vector<RankReport>& reports) {
  for (auto next = trials_.begin(); next != trials_.end();) {
    auto& [id, trial] = *next;
    const bool runs = std::ranges::any_of(
        trial.left, [&](const auto& one) { return one.second > 0 && nodes_.all()[one.first].lost.empty(); });
    if (!trial.end || runs) {
      ++next;
      continue;
    }
    trial.end->trial = id;
    trial.end->at = clock_.boot();
    reports.push_back(std::move(*trial.end));
    next = trials_.erase(next);
  }
}

void NodeLauncher::kill(uint64_t id) {
  const auto found = trials_.find(id);
  if (found == trials_.end()) return;
  for (const auto& [node, left] : found->second.left)
    if (Node& own = nodes_.all()[node]; own.lost.empty()) own.lines.send(Object{{"kill", id}});
}

}  // namespace expc::engine
