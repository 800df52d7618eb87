#include "tests/fuzz/documents.h"

#include "runtime/base/json.h"
#include "runtime/cluster/jobs.h"
#include "runtime/cluster/slurm.h"
#include "runtime/describe/description.h"
#include "runtime/engine/launch/worker_client.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/rehearsal/rehearsal.h"
#include "runtime/report/html.h"
#include "runtime/report/records_json.h"
#include "runtime/simulate/diagnosis.h"
#include "tests/fuzz/hold.h"

namespace expc::fuzz {
namespace {

/// The document in `bytes`; nothing where they are no JSON.
std::optional<json::Value> parsed(const std::string& bytes) {
  auto json = base::parseJson(bytes);
  if (json) return std::move(*json);
  hold(!toString(json.takeError()).empty(), "an error says something");
  return std::nullopt;
}

template <typename Read>
void readTwice(const std::string& bytes, Read read) {
  const auto json = parsed(bytes);
  if (!json) return;
  auto document = read(*json);
  if (!document) return hold(!toString(document.takeError()).empty(), "an error says something");
  const std::string written = base::prettyJson(toJson(*document));
  const auto again = parsed(written);
  hold(again.has_value(), "what is written is JSON");
  auto same = read(*again);
  hold(bool(same), "what is written is read");
  hold(base::prettyJson(toJson(*same)) == written, "and is the same");
}

}  // namespace

namespace {

/// Whether a plan is small enough to be simulated many times a second.
bool isSmall(const plan::Plan& plan) {
  constexpr size_t kMostPoints = 64, kMostCells = 64, kMostBlocks = 16;
  size_t cells = 0, blocks = 0;
  for (const auto& one : plan.comparisons) cells += one.cells.size();
  for (const auto& one : plan.criteria) cells += one.cells.size();
  for (const auto& one : plan.design.kinds) blocks += one.most();
  return plan.points.size() <= kMostPoints && cells <= kMostCells && blocks <= kMostBlocks;
}

}  // namespace

void readPlan(const std::string& bytes) {
  readTwice(bytes, plan::planFromJson);
  const auto json = parsed(bytes);
  if (!json) return;
  auto plan = plan::planFromJson(*json);
  if (!worked(plan) || !isSmall(*plan)) return;
  const store::Results none;
  const describe::Conclusions judgement = describe::conclude(*plan, none);
  hold(!report::htmlPage({*plan, judgement, none}, {}).empty(), "a plan has a page");
  (void)report::resultJson({*plan, judgement, none});
  (void)simulate::diagnose(*plan, simulate::modelOf(*plan, none, {}), {.studies = 2, .larger = false});
}

void readRehearsal(const std::string& bytes) { readTwice(bytes, rehearsal::studyFromJson); }

namespace {

size_t optionLines(const std::string& script) {
  size_t count = 0;
  for (size_t at = script.find("\n#SBATCH "); at != std::string::npos; at = script.find("\n#SBATCH ", at + 1)) ++count;
  return count;
}

}  // namespace

void readSite(const std::string& bytes) {
  auto site = cluster::parseSite(bytes, "site");
  if (!worked(site)) return;
  const cluster::Job job{"study", {"expc", "run", "study.exp"}, "/folder", "/folder/results/jobs"};
  // Lines of the set-up are the user's own shell, and stand behind all options.
  cluster::Site options = *site;
  options.setup.clear();
  // The number of nodes is an option that a script has anyway, and several nodes need one more.
  size_t own = optionLines(cluster::renderScript({}, job));
  for (const auto& [option, value] : site->asked)
    if (option == "--nodes") own -= value == "1";
  hold(optionLines(cluster::renderScript(options, job)) == own + site->asked.size() + site->options.size(),
       "a setting is one option");
}

void readJob(const std::string& bytes) {
  auto job = cluster::parseJob(bytes);
  if (!worked(job)) return;
  auto again = cluster::parseJob(cluster::writtenJob(*job));
  hold(worked(again) && cluster::writtenJob(*again) == cluster::writtenJob(*job),
       "what is written is read and the same");
}

void readDescription(const std::string& bytes) {
  auto description = engine::launch::parseDescription("worker", bytes);
  if (!worked(description)) return;
  hold(!description->build.empty(), "a worker has a build");
  for (const auto& [workload, parameter, level] : description->one_process)
    hold(description->isOneProcess(workload, json::Object{{parameter, base::jsonText(level)}}),
         "a level that one process takes is taken by one");
}

}  // namespace expc::fuzz
