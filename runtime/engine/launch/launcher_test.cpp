#include "runtime/engine/launch/launcher.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/files/files.h"
#include "runtime/engine/launch/rank_process.h"

using namespace expc;
using namespace expc::engine::launch;

TEST_CASE("nonsense on the event pipe is noted, once, and never a crash") {
  for (const char* text :
       {"\n", "{}\n", "{\"v\":1,\"event\":\"result\"}\n", "[[[[\n", "\xff\xfe\n", "{\"v\":9,\"event\":\"started\"}\n",
        "{\"v\":1,\"event\":\"result\",\"metrics\":{\"a\":\"two\"}}\n",
        "{\"v\":1,\"event\":\"started\"}"
        "{\"v\":1,\"event\":\"started\"}\n",
        "{\"v\":1,\"eve"}) {
    CAPTURE(text);
    EventLines lines;
    std::vector<RankReport> reports = lines.add(text);
    for (RankReport& report : lines.end()) reports.push_back(std::move(report));
    REQUIRE(reports.size() == 1);
    CHECK((reports[0].what == RankReport::What::Nonsense));
    CHECK(reports[0].text.find("not an event") != std::string::npos);
    CHECK(lines.add("more\n").empty());
  }
}

TEST_CASE("events are read whole, however they are cut") {
  const std::string text = "{\"v\":1,\"event\":\"started\"}\n{\"v\":1,\"event\":\"failed\",\"reason\":\"no file\"}\n";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EventLines lines;
    std::vector<RankReport> reports = lines.add(text.substr(0, cut));
    for (RankReport& report : lines.add(text.substr(cut))) reports.push_back(std::move(report));
    REQUIRE(reports.size() == 2);
    CHECK((reports[0].what == RankReport::What::Said));
    CHECK(reports[1].event.reason == "no file");
    CHECK(lines.end().empty());
  }
}

TEST_CASE("a process that was killed is gone when only its exit status is left, and named while it is not") {
  const files::TemporaryFolder proc;
  const auto write = [&](const char* stat) {
    std::filesystem::create_directories(proc.path() + "/12");
    std::ofstream(proc.path() + "/12/stat") << stat;
  };
  CHECK(processState(12, proc.path()) == '\0');
  CHECK(processState(0, proc.path()) == '\0');
  write("12 (a (b) c) D 1 2 3");
  CHECK(processState(12, proc.path()) == 'D');
  CHECK(!waitUntilGone(12, proc.path()));
  CHECK(stuckText(12, proc.path()) ==
        "process 12, in state D (it waits for a device or a file system that does not answer)");
  write("12 (a) Z 1");
  CHECK(waitUntilGone(12, proc.path()));
}
