#include "tests/fuzz/documents.h"

#include "runtime/cluster/jobs.h"
#include "runtime/cluster/slurm.h"
#include "runtime/engine/launch/worker_client.h"
#include "runtime/plan/json.h"
#include "runtime/plan/plan.h"
#include "runtime/rehearsal/rehearsal.h"
#include "tests/fuzz/hold.h"

namespace expc::fuzz {
namespace {

/// The document in `bytes`; nothing where they are no JSON.
std::optional<llvm::json::Value> parsed(const std::string& bytes) {
  auto json = plan::parseJson(bytes);
  if (json) return std::move(*json);
  hold(!llvm::toString(json.takeError()).empty(), "an error says something");
  return std::nullopt;
}

template <typename Read>
void readTwice(const std::string& bytes, Read read) {
  const auto json = parsed(bytes);
  if (!json) return;
  auto document = read(*json);
  if (!document) return hold(!llvm::toString(document.takeError()).empty(), "an error says something");
  const std::string written = plan::prettyJson(toJson(*document));
  const auto again = parsed(written);
  hold(again.has_value(), "what is written is JSON");
  auto same = read(*again);
  hold(static_cast<bool>(same), "what is written is read");
  hold(plan::prettyJson(toJson(*same)) == written, "and is the same");
}

}  // namespace

void readPlan(const std::string& bytes) { readTwice(bytes, plan::planFromJson); }

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
    hold(description->isOneProcess(workload, llvm::json::Object{{parameter, plan::jsonText(level)}}),
         "a level that one process takes is taken by one");
}

}  // namespace expc::fuzz
