#pragma once

// Runs trials on nodes, through their agents.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/clock.h"
#include "runtime/engine/launcher.h"
#include "runtime/engine/nodes.h"

namespace expc::engine {

class NodeLauncher final : public Launcher {
 public:
  /// Agents that have begun, which must outlive it. `lanes`: of all of them together.
  NodeLauncher(Nodes& nodes, unsigned lanes, Say say, const Clock& clock = Clock::real());

  LauncherDescription describe() const override { return {"nodes", lanes_}; }
  llvm::Expected<uint64_t> start(const TrialRequest& request) override;
  llvm::Expected<std::vector<RankReport>> events(double until, int wake) override;
  void kill(uint64_t trial) override;
  std::string lost(unsigned node) const override { return nodes_.all()[node].lost; }

 private:
  struct Trial {
    unsigned ranks = 0, exited = 0;
    std::map<unsigned, unsigned> left;  // ranks that have not exited, by node that has a part of it
    std::optional<RankReport> end;      // that it is lost, to be told once nothing of it runs
  };

  void read(unsigned node, std::vector<RankReport>& reports);
  void take(unsigned node, const llvm::json::Object& said, std::vector<RankReport>& reports);
  void lose(unsigned node, std::string why);
  void end(uint64_t id, Trial& trial, RankReport report);
  void settleLost(std::vector<RankReport>& reports);

  Nodes& nodes_;
  const unsigned lanes_;
  const Say say_;
  const Clock& clock_;
  std::map<uint64_t, Trial> trials_;
  uint64_t next_trial_ = 1;
};

}  // namespace expc::engine
