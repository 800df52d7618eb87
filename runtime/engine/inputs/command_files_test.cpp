#include "runtime/engine/inputs/command_files.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "runtime/base/files/glob.h"
#include "runtime/engine/inputs/trial_folders.h"
#include "runtime/plan/command.h"
#include "runtime/store/store.h"
#include "tests/support/folder.h"
#include "tests/support/text/has.h"

using namespace expc;
using namespace expc::engine::inputs;
namespace fs = std::filesystem;

namespace {

using List = std::vector<std::string>;

class StudyFolder : public expc::test::TestFolder {
 public:
  void write(const std::string& name, const std::string& text = "x", bool executable = false) const {
    fs::create_directories(fs::path(path + "/" + name).parent_path());
    std::ofstream(path + "/" + name) << text;
    if (executable) chmod((path + "/" + name).c_str(), 0755);
  }
  List matching(const std::string& pattern) const {
    List names;
    for (const std::string& file : llvm::cantFail(files::filesMatching(path, pattern, path + "/results/")))
      names.push_back(fs::path(file).lexically_relative(path).string());
    return names;
  }
};

plan::Plan planOf(const StudyFolder& folder, List arguments, List inputs = {}) {
  plan::Plan plan;
  plan.root = folder.path;
  plan::Command command;
  command.arguments = std::move(arguments);
  command.inputs = std::move(inputs);
  plan::Workload workload;
  workload.name = "train";
  workload.command = command;
  plan.workloads.push_back(workload);
  for (int gpus : {1, 2}) {
    plan::Point point;
    point.id = std::to_string(gpus);
    point.parameters = llvm::json::Object{{"gpus", gpus}, {"tool", gpus == 1 ? "true" : "false"}};
    plan.points.push_back(std::move(point));
  }
  return plan;
}

std::string refusal(const plan::Plan& plan) {
  auto files = findCommandFiles(plan, plan.root + "/results");
  if (files) return "(accepted)";
  return llvm::toString(files.takeError());
}

CommandFiles found(const plan::Plan& plan) {
  return llvm::cantFail(findCommandFiles(plan, plan.root + "/results")).front();
}

std::string digestOf(const plan::Plan& plan) {
  std::map<std::string, std::string> digests;
  auto files = llvm::cantFail(findCommandFiles(plan, plan.root + "/results"));
  llvm::cantFail(digestCommands(plan, files, digests, [] { return llvm::Error::success(); }));
  return digests.at(store::commandKey(plan.workloads[0]));
}

using expc::test::has;

}  // namespace

TEST_CASE("patterns name files as they do in a shell, with ** for any folders") {
  StudyFolder folder;
  for (const char* name : {"train.py", "a.txt", "src/one.py", "src/deep/er/two.py", "src/deep/notes.md",
                           "src/.hidden/x.py", "src/.dot.py", "results/trials/1/three.py", "results.py"})
    folder.write(name);
  fs::create_directory_symlink(folder.path, folder.path + "/src/loop");
  CHECK(folder.matching("train.py") == List{"train.py"});
  CHECK(folder.matching("./train.py") == List{"train.py"});
  CHECK(folder.matching("*.py") == List{"results.py", "train.py"});
  CHECK(folder.matching("src/**") == List{"src/deep/er/two.py", "src/deep/notes.md", "src/one.py"});
  CHECK(folder.matching("src") == folder.matching("src/**"));
  CHECK(folder.matching("src/") == folder.matching("src/**"));
  CHECK(folder.matching("**/*.py") == List{"results.py", "src/deep/er/two.py", "src/one.py", "train.py"});
  CHECK(folder.matching("src/**/two.py") == List{"src/deep/er/two.py"});
  CHECK(folder.matching("src/*/notes.md") == List{"src/deep/notes.md"});
  CHECK(folder.matching("sr*/de*/no*.md") == List{"src/deep/notes.md"});
  CHECK(folder.matching("src/.*.py") == List{"src/.dot.py"});
  CHECK(folder.matching("[st]*.py") == List{"train.py"});
  CHECK(folder.matching("?.txt") == List{"a.txt"});
  CHECK(folder.matching(folder.path + "/a.*") == List{"a.txt"});
  CHECK(folder.matching("nothing/*").empty());
  CHECK(folder.matching("train.py/x").empty());
  auto bad = files::filesMatching(folder.path, "src/[a", "");
  REQUIRE(!bad);
  CHECK(has(llvm::toString(bad.takeError()), "the pattern 'src/[a'"));
}

TEST_CASE("a command's program is looked for before the first trial") {
  StudyFolder folder;
  CHECK(found(planOf(folder, {"true"})).programs.size() == 1);
  CHECK(found(planOf(folder, {"${tool}"})).programs.size() == 2);
  CHECK(has(refusal(planOf(folder, {"no-such-program"})),
            "the workload train: program 'no-such-program' not found in PATH"));
  CHECK(has(refusal(planOf(folder, {"./bench"})), "does not exist (looked for " + folder.path + "/bench)"));
  folder.write("bench", "#!/bin/true\n");
  CHECK(has(refusal(planOf(folder, {"bench"})), "for the file next to the study, write './bench'"));
  if (geteuid() != 0) CHECK(has(refusal(planOf(folder, {"./bench"})), "is not executable"));
  folder.write("bench", "#!/bin/true\n", true);
  CHECK(found(planOf(folder, {"./bench"})).programs == List{folder.path + "/bench"});
  for (const char* first : {"#!/bin/sh\r\n", "#! /usr/bin/env python3\r\n"}) {
    folder.write("bench", first, true);
    CHECK(has(refusal(planOf(folder, {"./bench"})), "ends with a carriage return"));
  }
  folder.write("bench", "#!/no/such/interpreter -x\n", true);
  CHECK(has(refusal(planOf(folder, {"./bench"})), "does not exist (/no/such/interpreter)"));
  folder.write("bench", "#!/bin/sh -e\necho\r\n", true);
  CHECK(found(planOf(folder, {"./bench"})).programs.size() == 1);
  CHECK(has(refusal(planOf(folder, {"."})), "not found in PATH"));
  CHECK(has(refusal(planOf(folder, {"./"})), "is a folder"));
  CHECK(found(planOf(folder, {"true", "--rank", "${rank}"})).programs.size() == 1);  // inactive at all points
  CHECK(has(refusal(planOf(folder, {"${rank}"})), "no program is left to run: its name stands for an inactive"));
  CHECK(has(refusal(planOf(folder, {"true", "${gpus"})), "a parameter is written ${name}"));
}

TEST_CASE("a command that no point is left of needs neither program nor parameters") {
  StudyFolder folder;
  folder.write("train.py");
  plan::Plan plan = planOf(folder, {"true", "train.py"});
  const std::string before = digestOf(plan);
  plan.workloads.push_back(planOf(folder, {"no-such-program", "${rank}"}).workloads[0]);
  plan.workloads.push_back(plan.workloads[0]);  // the same command under another name, which it has its digest from
  CHECK(llvm::cantFail(findCommandFiles(plan, plan.root + "/results"))[1].programs.empty());
  CHECK(digestOf(plan) == before);
}

TEST_CASE("inputs are found once, with the files that the arguments name") {
  StudyFolder folder;
  folder.write("train.py");
  folder.write("src/a.py");
  folder.write("out.json");
  plan::Plan plan =
      planOf(folder, {"true", "train.py", "--gpus", "${gpus}", "missing.txt", "src"}, {"src/**", "train.py"});
  CommandFiles files = found(plan);
  REQUIRE(files.inputs.size() == 2);
  CHECK(files.inputs[0].name == "src/a.py");
  CHECK(files.inputs[1].name == "train.py");
  CHECK(files.inputs[1].path == folder.path + "/train.py");
  CHECK(has(refusal(planOf(folder, {"true"}, {"lib/**"})), "the input 'lib/**' matches no file in " + folder.path));
  CHECK(has(refusal(planOf(folder, {"true"}, {"[a"})), "inputs: the pattern '[a'"));
  CHECK(found(planOf(folder, {"true"}, {"/etc/passwd"})).inputs[0].name.empty());
  StudyFolder other;
  other.write("x.py");
  const std::string outside = "../" + fs::path(other.path).filename().string() + "/x.py";
  CHECK(has(refusal(planOf(folder, {"true", outside})), "is a file outside the study's folder"));

  plan.workloads[0].command->metrics.push_back(
      {"launch", plan::CommandMetric::From::Json, "./out.json", "/a", 1, false});
  CHECK(refusal(plan) == "(accepted)");
  plan.workloads[0].command->inputs.push_back("*.json");
  CHECK(has(refusal(plan), "the metric launch is read from './out.json', which is an input: remove it from `inputs`"));
  plan.workloads[0].command->inputs.pop_back();
  plan.workloads[0].command->arguments.push_back("out.json");
  CHECK(has(refusal(plan),
            "'./out.json', which is an input, since it is an argument and a file of this name exists: "
            "delete or rename the file, or write `inputs copy"));
}

TEST_CASE("a script that is not there is found before any trial") {
  StudyFolder folder;
  folder.write("train.py");
  CHECK(refusal(planOf(folder, {"sh", "train.py"})) == "(accepted)");
  CHECK(has(refusal(planOf(folder, {"sh", "trian.py"})), "there is no 'trian.py' in " + folder.path));
  // Options, names that a parameter completes, and files that something makes before are not looked for.
  for (const List& arguments : {List{"sh", "-c", "x.py"}, List{"sh", "train.py", "out.csv"}, List{"sh", "${tool}.py"}})
    CHECK(refusal(planOf(folder, arguments)) == "(accepted)");
  plan::Plan plan = planOf(folder, {"sh", "made.py"});
  plan.workloads[0].command->before = {"true"};
  CHECK(refusal(plan) == "(accepted)");
}

TEST_CASE("what is read at a point has its parameters' values") {
  plan::Command command;
  using From = plan::CommandMetric::From;
  command.metrics = {{"a", From::Regex, "out-${size}.txt", "^${name} .*\\${size} ([0-9]+)$", 1, false},
                     {"b", From::Json, "o.json", "/n=${size}/${other}", 1, false}};
  const plan::Command at = plan::readAt(command, llvm::json::Object{{"size", 8}, {"name", "a.b"}, {"other", "x"}});
  CHECK(at.metrics[0].file == "out-8.txt");
  CHECK(at.metrics[0].where == "^a\\.b .*\\${size} ([0-9]+)$");
  CHECK(at.metrics[1].where == "/n=8/x");
  CHECK(plan::parametersIn("${a} $ ${b} \\${c} ${d") == List{"a", "b"});
}

TEST_CASE("a copy is the trial's own, and may be read from") {
  StudyFolder folder;
  folder.write("base.db", "one");
  folder.write("other.db", "two");
  plan::Plan plan = planOf(folder, {"true"}, {"*.db"});
  plan.workloads[0].command->metrics.push_back({"size", plan::CommandMetric::From::Size, "base.db", "", 1, false});
  CHECK(has(refusal(plan), "write `inputs copy \"base.db\"` if the program changes it"));
  plan.workloads[0].command->copied = {"base.db"};
  const CommandFiles files = found(plan);
  REQUIRE(files.inputs.size() == 2);
  const std::string trial = folder.path + "/results/trials/1";
  llvm::cantFail(makeTrialFolder(trial, files));
  CHECK_FALSE(fs::equivalent(trial + "/base.db", folder.path + "/base.db"));
  CHECK(fs::equivalent(trial + "/other.db", folder.path + "/other.db"));
  plan.workloads[0].command->expectations.push_back(
      {{"same", plan::CommandMetric::From::Same, "other.db", "base.db", 1, false}, {}});
  CHECK(has(refusal(plan), "what is expected is read from 'other.db', which is an input"));
}

TEST_CASE("programs that a path names are data of their points, and stale by themselves") {
  StudyFolder folder;
  folder.write("old", "#!/bin/true\n", true);
  folder.write("new", "#!/bin/true\n", true);
  plan::Plan plan = planOf(folder, {"${build}"});
  plan.data_paths = {"new", "old"};
  for (size_t i = 0; i < 2; ++i) plan.points[i].parameters["build"] = plan.data_paths[i];
  CHECK(found(plan).programs.empty());
  const std::string digest = digestOf(plan);
  folder.write("new", "#!/bin/false\n", true);
  CHECK(digestOf(plan) == digest);  // data's digest says so, of the points that run it
  fs::remove(folder.path + "/new");
  CHECK(has(refusal(plan), "does not exist (looked for " + folder.path + "/new)"));
}

TEST_CASE("what prepares is looked for, and belongs to the digest") {
  StudyFolder folder;
  folder.write("build.sh");
  plan::Plan plan = planOf(folder, {"${prepared}/bench"});
  const std::string without = digestOf(plan);
  plan.workloads[0].command->preparation = plan::Preparation{{"true", "build.sh", "${gpus}"}, {}};
  const CommandFiles files = found(plan);
  CHECK(files.programs.size() == 1);
  REQUIRE(files.inputs.size() == 1);
  CHECK(files.inputs[0].name == "build.sh");
  const std::string digest = digestOf(plan);
  CHECK(digest != without);
  plan.workloads[0].command->preparation->arguments.back() = "x${gpus}";
  CHECK(digestOf(plan) != digest);
  plan.workloads[0].command->preparation->arguments.front() = "no-such-program";
  CHECK(has(refusal(plan), "program 'no-such-program' not found in PATH"));
}

TEST_CASE("a trial's folder has a link to each input, and nothing of before") {
  StudyFolder folder;
  folder.write("train.py", "one");
  folder.write("src/deep/a.py", "two");
  const CommandFiles files = found(planOf(folder, {"true", "train.py"}, {"src/**", "/etc/passwd"}));
  const std::string trial = folder.path + "/results/trials/1";
  folder.write("results/trials/1/old.json");
  llvm::cantFail(makeTrialFolder(trial, files));
  CHECK(!fs::exists(trial + "/old.json"));
  CHECK(fs::read_symlink(trial + "/train.py") == folder.path + "/train.py");
  CHECK(fs::equivalent(trial + "/src/deep/a.py", folder.path + "/src/deep/a.py"));
  CHECK_FALSE(fs::is_symlink(trial + "/src/deep/a.py"));  // some programs refuse these
  CHECK(fs::is_regular_file(trial + "/src/deep/a.py"));
  CHECK(std::distance(fs::directory_iterator(trial), {}) == 2);
  CHECK(has(llvm::toString(makeTrialFolder("/proc/none", files)), "cannot make the trial's folder '/proc/none'"));
}

TEST_CASE("in a folder that stays the user's files have one name again") {
  StudyFolder folder;
  for (const char* name : {"a.bin", "src/b.bin", "c.bin", "d.bin"}) folder.write(name, name);
  plan::Plan plan = planOf(folder, {"true"}, {"a.bin", "src/*", "c.bin"});
  plan.workloads[0].command->copied = {"d.bin"};
  const CommandFiles files = found(plan);
  const std::string trial = folder.path + "/results/trials/1";
  llvm::cantFail(makeTrialFolder(trial, files));
  CHECK(fs::hard_link_count(folder.path + "/a.bin") == 2);
  fs::remove(trial + "/c.bin");
  folder.write("results/trials/1/c.bin", "the program's own");
  leaveInputs(trial, files);
  for (const char* name : {"a.bin", "src/b.bin"}) {
    CHECK(fs::hard_link_count(folder.path + "/" + name) == 1);
    CHECK(fs::read_symlink(trial + "/" + name) == folder.path + "/" + name);
  }
  CHECK_FALSE(fs::is_symlink(trial + "/c.bin"));
  CHECK_FALSE(fs::is_symlink(trial + "/d.bin"));
  leaveInputs(trial, files);
  CHECK(fs::exists(trial + "/a.bin"));
}

TEST_CASE("a lock's digest of inputs asks for no points and no programs") {
  StudyFolder folder;
  folder.write("train.py", "one");
  plan::Plan plan = planOf(folder, {"no-such-program", "train.py"}, {"*.py"});
  plan.points.clear();
  const auto digest = [&] { return llvm::cantFail(digestInputs(plan, 0, [] { return llvm::Error::success(); })); };
  const std::string before = digest();
  folder.write("train.py", "two");
  CHECK(digest() != before);
  fs::remove(folder.path + "/train.py");
  CHECK(
      has(llvm::toString(digestInputs(plan, 0, [] { return llvm::Error::success(); }).takeError()), "matches no file"));
}

TEST_CASE("the digest is of the program and the inputs, wherever they lie") {
  StudyFolder one, two;
  for (const StudyFolder* folder : {&one, &two}) {
    folder->write("train.py", "one");
    folder->write("tool", "#!/bin/true\n", true);
  }
  const List command{"./tool", "train.py"};
  const std::string digest = digestOf(planOf(one, command));
  CHECK(digest == digestOf(planOf(two, command)));
  two.write("train.py", "other");
  CHECK(digest != digestOf(planOf(two, command)));
  two.write("train.py", "one");
  two.write("tool", "#!/bin/false\n", true);
  CHECK(digest != digestOf(planOf(two, command)));
  two.write("tool", "#!/bin/true\n", true);
  two.write("more.py", "three");
  CHECK(digest == digestOf(planOf(two, command)));
  CHECK(digest != digestOf(planOf(two, command, {"*.py"})));
  plan::Plan copied = planOf(two, command, {"more.py"});
  const std::string linked = digestOf(copied);
  copied.workloads[0].command->copied = std::exchange(copied.workloads[0].command->inputs, {});
  CHECK(linked != digestOf(copied));  // what a program does may differ
}
