#include "tests/fuzz/rehearsal.h"

#include <cstdio>
#include <cstdlib>

#include "runtime/plan/json.h"
#include "runtime/rehearsal/rehearsal.h"

namespace expc::fuzz {
namespace {

void hold(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

}  // namespace

void readRehearsal(const std::string& bytes) {
  auto json = plan::parseJson(bytes);
  if (!json) return llvm::consumeError(json.takeError());
  auto study = rehearsal::studyFromJson(*json);
  if (!study) {
    return hold(!llvm::toString(study.takeError()).empty(), "an error says something");
  }
  const std::string written = plan::prettyJson(rehearsal::toJson(*study));
  auto again = plan::parseJson(written);
  hold(static_cast<bool>(again), "what is written is JSON");
  auto same = rehearsal::studyFromJson(*again);
  hold(static_cast<bool>(same), "what is written is read");
  hold(plan::prettyJson(rehearsal::toJson(*same)) == written, "and is the same");
}

}  // namespace expc::fuzz
