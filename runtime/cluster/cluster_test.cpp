#include <doctest/doctest.h>

#include "runtime/base/format.h"
#include "runtime/cluster/jobs.h"
#include "runtime/cluster/slurm.h"

namespace expc::cluster {
namespace {

std::string errorOf(const char* text) {
  auto site = parseSite(text, "site");
  return site ? "" : toString(site.takeError());
}

TEST_CASE("a site file is read line by line, and what is wrong is named with its line") {
  auto site = parseSite("# ours\npartition = gpu\ntime=2:00:00\n\nmodule = cuda/13\nsetup = export A=1 # b\n", "site");
  REQUIRE(bool(site));
  CHECK(site->asked[0] == std::pair<std::string, std::string>("--partition", "gpu"));
  CHECK(site->modules == std::vector<std::string>{"cuda/13"});
  CHECK(site->setup == std::vector<std::string>{"export A=1 # b"});
  CHECK(errorOf("partition gpu").find("site:1: ") == 0);
  CHECK(errorOf("\nqueue = gpu").find("site:2: unknown setting 'queue'; known are partition,") == 0);
  for (const char* time : {"30", "30:00", "4:00:00", "2-12", "2-12:00:00"})
    CHECK(errorOf(fmt::format("time = {}", time).c_str()) == "");
  for (const char* time : {"30min", "4h", "1:2:3:4", "-5", "2-"})
    CHECK(errorOf(fmt::format("time = {}", time).c_str()).find("site:1: 'time' takes") == 0);
  CHECK(errorOf("time = 1:00\ntime = 2:00").find("given twice") != std::string::npos);
  CHECK(errorOf("partition = a\rb --wrap=x") != "");
  CHECK(errorOf("partition = a --wrap=x") != "");
  CHECK(errorOf("option = echo") != "");
}

TEST_CASE("a secret is a name, and a value in its place is not repeated by the error") {
  const std::string error = errorOf("secret = TOKEN=hunter2");
  CHECK(error.find("the name of one variable") != std::string::npos);
  CHECK(error.find("hunter2") == std::string::npos);
}

TEST_CASE("the script names variables and no values, and is not led astray by names of folders") {
  auto site = parseSite("account = x\nsecret = TOKEN\nsetup = source env.sh\n", "site");
  REQUIRE(bool(site));
  const std::string script =
      renderScript(*site, {"a", {"/bin/expc", "run", "it's.exp"}, "/tmp/my study", "/tmp/r/jobs"});
  CHECK(script.find("#SBATCH --account=x\n") != std::string::npos);
  CHECK(script.find("#SBATCH --export=HOME,USER,LOGNAME,PATH,LANG,TOKEN\n") != std::string::npos);
  CHECK(script.find("#SBATCH --chdir='/tmp/my study'\n") != std::string::npos);
  CHECK(script.find("/bin/expc run 'it'\\''s.exp' &\n") != std::string::npos);
  CHECK(script.find("|TOKEN'") != std::string::npos);
}

TEST_CASE("a scratch folder is the job's own, by the variables that it has") {
  auto site = parseSite("scratch = /local/$USER\n", "site");
  REQUIRE(bool(site));
  const std::string script = renderScript(*site, {"a", {"/bin/expc", "run", "a.exp"}, "/tmp", "/tmp/jobs"});
  CHECK(script.find("/bin/expc run a.exp --scratch \"/local/$USER\" &\n") != std::string::npos);
  CHECK(errorOf("scratch = local").find("takes a folder") != std::string::npos);
  CHECK(errorOf("scratch = /a\nscratch = /b").find("given twice") != std::string::npos);
  CHECK(errorOf("scratch = /a\" ; rm -rf /") != "");
}

TEST_CASE("what Slurm prints of times and states") {
  CHECK(parseTimeLeft("1-00:00:01") == 86401);
  CHECK(parseTimeLeft("2:03:04\n") == 7384);
  CHECK(parseTimeLeft("3:04") == 184);
  for (const char* other : {"", "INVALID", "NOT_SET", "1-", "4", "1:2:3:4", "-1:00"}) CHECK(!parseTimeLeft(other));
  const auto states = parseStates("12|RUNNING|None\nnonsense\n13|PENDING|Priority\n");
  CHECK(states.size() == 2);
  CHECK(states.at("13").second == "Priority");
}

TEST_CASE("a job's file is read back, and another one is refused") {
  JobRecord job;
  job.cluster = "slurm", job.id = "12", job.name = "slurm-12", job.study = "a.exp";
  auto again = parseJob(writtenJob(job));
  REQUIRE(bool(again));
  CHECK(writtenJob(*again) == writtenJob(job));
  job.id = "-1", job.name = "slurm--1";
  CHECK(!toString(parseJob(writtenJob(job)).takeError()).empty());
  CHECK(!toString(parseJob("{}").takeError()).empty());
}

}  // namespace
}  // namespace expc::cluster
