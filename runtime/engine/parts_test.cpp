// The engine's parts that need no worker.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "runtime/engine/launcher.h"
#include "runtime/engine/progress.h"
#include "runtime/engine/rank_process.h"
#include "runtime/engine/scheduler.h"
#include "runtime/files/files.h"
#include "tests/support/engine/run.h"

using namespace expc;
using namespace expc::engine;

TEST_CASE("order and seed of a block depend on seed, study, kind and number alone") {
  std::vector<plan::Place> places;
  for (int i = 0; i < 20; ++i) places.push_back(std::to_string(i));
  uint64_t seed = blockSeed(7, "study", plan::TrialKind::Timed, 0);
  CHECK(seed == blockSeed(7, "study", plan::TrialKind::Timed, 0));
  CHECK(seed != blockSeed(8, "study", plan::TrialKind::Timed, 0));
  CHECK(seed != blockSeed(7, "other", plan::TrialKind::Timed, 0));
  CHECK(seed != blockSeed(7, "study", plan::TrialKind::Quality, 0));
  CHECK(seed != blockSeed(7, "study", plan::TrialKind::Timed, 1));
  CHECK(seed < (1ull << 53));
  auto order = blockOrder(places, seed);
  CHECK((order == blockOrder(places, seed)));
  CHECK((order != places));
  std::sort(order.begin(), order.end());
  std::sort(places.begin(), places.end());
  CHECK((order == places));
}

TEST_CASE("every order comes up about equally often") {
  std::map<std::string, int> seen;
  for (uint64_t number = 0; number < 6000; ++number) {
    auto order = blockOrder({"a", "b", "c"}, blockSeed(1, "study", plan::TrialKind::Timed, number));
    ++seen[order[0].point + order[1].point + order[2].point];
  }
  CHECK(seen.size() == 6);
  for (auto& [order, count] : seen) CHECK(std::abs(count - 1000) < 150);  // five standard deviations
}

TEST_CASE("a log's tail is its last lines, fit to print") {
  char name[] = "/tmp/expc-tail-XXXXXX";
  close(mkstemp(name));
  CHECK(files::lastWords(name).empty());
  {
    std::ofstream out(name);
    for (int i = 0; i < 100; ++i) out << "line " << i << "\n";
    out << "\x1b[31mred\n";
  }
  std::string tail = files::lastWords(name);
  CHECK(std::count(tail.begin(), tail.end(), '\n') == 19);
  CHECK(tail.substr(0, 7) == "line 81");
  CHECK(tail.substr(tail.size() - 8) == "?[31mred");
  std::ofstream(name) << std::string(100000, 'x');
  CHECK(files::lastWords(name).size() == 4096);
  unlink(name);
  CHECK(files::lastWords(name).empty());
}

TEST_CASE("nonsense on the event pipe is noted, once, and never a crash") {
  for (const char* text :
       {"\n", "{}\n", "{\"v\":1,\"event\":\"result\"}\n", "[[[[\n", "\xff\xfe\n", "{\"v\":9,\"event\":\"started\"}\n",
        "{\"v\":1,\"event\":\"result\",\"metrics\":{\"a\":\"nan\"}}\n",
        "{\"v\":1,\"event\":\"started\"}"
        "{\"v\":1,\"event\":\"started\"}\n",
        "{\"v\":1,\"eve"}) {
    CAPTURE(text);
    EventLines lines;
    std::vector<RankReport> reports = lines.add(text);
    for (RankReport& report : lines.end()) reports.push_back(std::move(report));
    REQUIRE(reports.size() == 1);
    CHECK((reports[0].what == RankReport::What::Nonsense));
    CHECK(reports[0].text.find("no event") != std::string::npos);
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
  const TestFolder proc;
  const auto write = [&](const char* stat) {
    std::filesystem::create_directories(proc.path + "/12");
    std::ofstream(proc.path + "/12/stat") << stat;
  };
  CHECK(processState(12, proc.path) == '\0');
  CHECK(processState(0, proc.path) == '\0');
  write("12 (a (b) c) D 1 2 3");
  CHECK(processState(12, proc.path) == 'D');
  CHECK(!waitUntilGone(12, proc.path));
  CHECK(stuckText(12, proc.path) ==
        "process 12, in state D (it waits for a device or a file system that does not answer)");
  write("12 (a) Z 1");
  CHECK(waitUntilGone(12, proc.path));
}
