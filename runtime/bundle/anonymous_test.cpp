#include "runtime/bundle/anonymous.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>

#include "runtime/base/files/files.h"
#include "tests/support/folder.h"

namespace expc::bundle {
namespace {

/// Two machines of which one is called by its full name, a colleague's home, two cards.
store::Results measured(const std::string& host) {
  store::Results results;
  store::Session session;
  session.where = {{host, "n2"}, "local:0", {"11111111-aaaa", "22222222-bbbb"}};
  session.environment_json = R"({"machine": {"host": ")" + host +
                             R"(", "boot_id": "11111111-aaaa", "cpu_model": "Some cpu", "kernel": "Linux 6.1",
    "gpus": [{"index": 0, "uuid": "GPU-8f3c"}, {"index": 1, "uuid": "GPU-77aa"}]}})";
  results.sessions.push_back(session);
  store::Trial trial;
  trial.devices = R"([{"device": "cpu", "node": ")" + host + R"("}, {"device": "cuda", "uuid": "GPU-77aa"}])";
  trial.environment_json = R"({"variables": {"PATH": "/cluster/home/alovelace/venv/bin:/usr/bin", "LANG": "C.UTF-8"}})";
  const std::string brief = host.substr(0, host.find('.'));
  trial.reason = "NCCL on " + brief + " failed for alovelace";
  trial.log_tail = "2 x CPU at /cluster/home/alovelace/data.txt";
  trial.notes = {"seen by " + host};
  results.trials.push_back(trial);
  return results;
}

Words words(const std::string& text) {
  Words own;
  own.add(text);
  return own;
}

TEST_CASE("records are hidden by field, and what programs said word by word") {
  store::Results results = measured("adaslaptop.example.org");
  const Anonymous hidden(results, "/work/study", "/work/study/results", words("cpu time"));
  store::Session session = results.sessions[0];
  hidden.apply(session);
  CHECK(session.where.nodes.size() == 2);
  CHECK(session.where.nodes[0] != session.where.nodes[1]);
  CHECK(session.where.nodes[0].starts_with("host"));
  CHECK(session.where.boots[0] != session.where.boots[1]);
  CHECK(session.where.lane == "local:0");
  CHECK(session.environment_json.find("\"cpu_model\":\"Some cpu\"") != std::string::npos);
  CHECK(session.environment_json.find("\"uuid\":\"GPU-1\"") != std::string::npos);
  CHECK(session.environment_json.find("\"uuid\":\"GPU-2\"") != std::string::npos);
  store::Trial trial = results.trials[0];
  hidden.apply(trial);
  CHECK(trial.reason == "NCCL on " + session.where.nodes[0] + " failed for someone");
  CHECK(trial.log_tail == "2 x CPU at /home/someone/data.txt");
  CHECK(trial.environment_json.find("\"PATH\":\"hidden\"") != std::string::npos);
  CHECK(trial.environment_json.find("\"LANG\":\"C.UTF-8\"") != std::string::npos);
  for (const std::string& text : {session.environment_json, trial.devices, trial.environment_json, trial.notes[0].said})
    for (const char* name : {"adaslaptop", "alovelace", "8f3c", "77aa", "1111"})
      CHECK(text.find(name) == std::string::npos);
  CHECK(trial.devices.find("\"device\":\"cpu\"") != std::string::npos);
}

TEST_CASE("a host that is called as a word of the records changes none of them") {
  store::Results results = measured("cpu");
  const Anonymous hidden(results, "/work/study", "/work/study/results", words("cpu time"));
  store::Session session = results.sessions[0];
  store::Trial trial = results.trials[0];
  hidden.apply(session);
  hidden.apply(trial);
  CHECK(session.where.nodes[0].starts_with("host"));
  CHECK(session.environment_json.find("\"cpu_model\":\"Some cpu\"") != std::string::npos);
  CHECK(trial.devices.find("\"device\":\"cpu\"") != std::string::npos);
  CHECK(trial.devices.find("\"node\":\"host") != std::string::npos);
  CHECK(trial.log_tail == "2 x CPU at /home/someone/data.txt");
}

TEST_CASE(
    "a host called as who is nobody, and addresses that programs talked to, are hidden; versions and times are not") {
  for (const char* host : {"root", "s", "10.0.0.5", "fe80::1"}) {
    CAPTURE(host);
    store::Results results = measured(host);
    store::Trial trial = results.trials[0];
    trial.reason = "connect to 10.1.2.3:29500, [fe80::7]:80 and 127.0.0.1: no c10::Error at 12:30:45.";
    trial.environment_json = R"({"cudnn": "9.1.0.70", "master_addr": "fe80::9", "node": ")" + std::string(host) + "\"}";
    results.trials[0] = trial;
    const Anonymous hidden(results, "/work/study", "/work/study/results", words("cpu time a s root no"));
    hidden.apply(trial);
    CHECK(trial.reason == "connect to address:29500, [address]:80 and 127.0.0.1: no c10::Error at 12:30:45.");
    CHECK(trial.environment_json.find("9.1.0.70") != std::string::npos);
    CHECK(trial.environment_json.find("fe80") == std::string::npos);
    CHECK(trial.environment_json.find("\"node\":\"host") != std::string::npos);
  }
}

TEST_CASE("names are found in every form that programs write them in") {
  store::Results results = measured("quiet-lion-77.example.org");
  const auto hiddenIn = [&](const std::string& text) {
    results.trials[0].log_tail = text;
    const Anonymous hidden(results, "/work/study", "/work/study/results", words("cpu time"));
    store::Trial trial = results.trials[0];
    hidden.apply(trial);
    return trial.log_tail;
  };
  std::string host = "quiet-lion-77";
  host = hiddenIn(host);
  CHECK(hiddenIn("a quiet_lion_77.0 b") == "a " + host + ".0 b");
  CHECK(hiddenIn("on Quiet.Lion.77") == "on " + host);
  CHECK(hiddenIn("srun: error: quiet-lion-[76-78]: tasks 0-1") == "srun: error: hosts: tasks 0-1");
  CHECK(hiddenIn("quiet-lion-7[6,8].example.org,x[1-2]") == "hosts,x[1-2]");
  CHECK(hiddenIn("ssh quiet-lion-{76..78} now") == "ssh hosts now");
  CHECK(hiddenIn("quiet-lion-[a]") == "quiet-lion-[a]");
  CHECK(hiddenIn("quiet-lion-[76-7") == "hosts");
  CHECK(hiddenIn("?a=1%3F&dir=%2Fhome%2Fgrace%2Fx") == "?a=1%3F&dir=/home/someone%2Fx");
  CHECK(hiddenIn("%252Fhome%252Fgrace") == "/home/someone");
  CHECK(hiddenIn(R"({"where": "\nquiet-lion-77\t\u002fhome\/grace"})") ==
        R"({"where": "\n)" + host + R"(\t/home/someone"})");
  CHECK(hiddenIn("\x1b[31mquiet-lion-77\x1b[0m").find("lion") == std::string::npos);
  CHECK(host.starts_with("host"));
  CHECK(hiddenIn("100%2 of %zz, C:\\new\\") == "100%2 of %zz, C:\\new\\");
}

TEST_CASE("whatever was written is searched, and one name that is left is an error that says where") {
  const test::TestFolder folder;
  const Anonymous hidden(measured("node7"), "/work/study", "/work/study/results", words("trial cpu n2"));
  const auto left = [&](const std::string& file, const std::string& text) {
    CHECK(toString(files::write(folder / file, text)).empty());
    std::set<std::string> unsought;
    std::string why = toString(hidden.search(folder.path, unsought));
    CHECK(unsought.count("n2") == 1);
    std::filesystem::remove(folder / file);
    return why;
  };
  CHECK(left("page.html", "<p>cpu, n2, node77, anode7: a trial</p>").empty());
  CHECK(left("page.html", "a\nb\n<b>Node7</b>").find("page.html line 3 has 'Node7', a host") != std::string::npos);
  CHECK(left("x.csv", "at /cluster/home/alovelace/x").find("alovelace") != std::string::npos);
  CHECK(left("alovelace.exp", "").find("alovelace.exp") != std::string::npos);
  CHECK(left("x.jsonl", "{\"boot\":\"11111111-aaaa\"}").find("a boot") != std::string::npos);
  CHECK(left("x.txt", "of GPU-8F3C here").find("a card") != std::string::npos);
  CHECK(left("x.txt", "node[6-8] is a word of records").empty());
  CHECK(left("x.txt", "?dir=%2fcluster%2Fhome%2falovelace").find("a folder") != std::string::npos);
  const Anonymous lion(measured("lion7"), "/work/study", "/work/study/results", words("trial"));
  CHECK(toString(files::write(folder / "x.txt", "srun: error: lion[6-8]: x")).empty());
  std::set<std::string> none;
  CHECK(toString(lion.search(folder.path, none)).find("x.txt line 1 has 'lion[6-8]', a host") != std::string::npos);
  CHECK(left("x.txt", "in /work/study/results/journal").find("a folder") != std::string::npos);
}

}  // namespace
}  // namespace expc::bundle
