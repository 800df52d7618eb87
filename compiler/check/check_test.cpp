#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <ios>
#include <map>
#include <sstream>

#include "compiler/check/expression.h"
#include "compiler/parse/words.h"
#include "runtime/plan/plan.h"
#include "stdlib/stdlib.h"
#include "tests/source_dir.h"
#include "tests/study_fixture.h"

using namespace expc;
using check::Fixture;

TEST_CASE("the embedded stdlib is the files, byte for byte") {
  CHECK(stdlib::names().size() >= 1);
  for (std::string_view name : stdlib::names()) {
    std::ifstream file(expc::test::sourceDir() + "/stdlib/" + std::string(name) + ".exp", std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    REQUIRE_MESSAGE(file.good(), name);
    CHECK(*stdlib::module(name) == text.str());
  }
  CHECK(!stdlib::module("nothing"));
}

TEST_CASE("every module of the stdlib checks without a word") {
  for (std::string_view name : stdlib::names()) {
    Fixture fixture("import std." + std::string(name));
    CHECK_MESSAGE(fixture.collector.diagnostics.empty(), fixture.text());
  }
}

TEST_CASE("the reference study is in order") {
  const std::filesystem::path folder = expc::test::sourceDir() + "/experiments";
  const auto read = [](const std::filesystem::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  std::map<std::string, std::string> published{{"dir/digits.exp", read(folder / "digits.exp")}};
  for (const std::string of : {"reference", "shared"})
    for (const auto& entry : std::filesystem::directory_iterator(folder / of))
      published["dir/" + of + "/" + entry.path().filename().string()] = read(entry.path());
  Fixture fixture(read(folder / "precision.exp"), published);
  CHECK_MESSAGE(fixture.collector.diagnostics.empty(), fixture.text());
  REQUIRE(fixture.program.studies.size() == 1);
  const check::Study& study = *fixture.program.studies[0];
  CHECK(study.valid);
  CHECK(study.workload->name == "image.mobilenet_v2");
  CHECK(study.factors[0].levels.size() == 4);
  CHECK(study.factors[1].declared == std::vector<std::string>{"1..4"});
  REQUIRE(study.findPreset("quick"));
  CHECK(study.findPreset("quick")->only.size() == 2);
}

TEST_CASE("a word of the language that stands for an enumerator of plans is in its table") {
  using words::Role;
  for (const std::string& word : words::texts(Role::Kind)) CHECK_MESSAGE(base::valueOf(plan::words::kKind, word), word);
  for (const std::string& word : words::texts(Role::Taken)) CHECK_MESSAGE(check::isReduction(word), word);
  for (const std::string& word : words::texts(Role::Description))
    CHECK_MESSAGE(base::valueOf(plan::words::kShows, word), word);
}

TEST_CASE("imports are found from the file that writes them") {
  Fixture nested("import \"a/one.exp\" as one\nlet x = one.value + 1\nlet y = x == 42",
                 {{"dir/a/one.exp", "import \"b/two.exp\"\nlet value = two.value * 2 + 1"},
                  {"dir/a/b/two.exp", "let value = 20"}});
  CHECK_MESSAGE(nested.collector.diagnostics.empty(), nested.text());
  CHECK(Fixture("import \"x.exp\"").slugs() == std::vector<std::string>{"import-not-found"});
  CHECK(Fixture("import \"x.exp\"", {{"dir/x.exp", "unreadable"}}).slugs() ==
        std::vector<std::string>{"import-unreadable"});
  CHECK(Fixture("import \"study.exp\"").slugs() == std::vector<std::string>{"import-cycle"});
  CHECK(
      Fixture("import \"a.exp\"", {{"dir/a.exp", "import \"././b.exp\""}, {"dir/b.exp", "import \"a.exp\""}}).slugs() ==
      std::vector<std::string>{"import-cycle"});
  // A file that is imported along two paths is one module, not a cycle.
  Fixture diamond("import \"a.exp\"\nimport \"b.exp\"\nlet z = a.x + b.x",
                  {{"dir/a.exp", "import \"c.exp\"\nlet x = c.x"},
                   {"dir/b.exp", "import \"c.exp\"\nlet x = c.x"},
                   {"dir/c.exp", "let x = 1"}});
  CHECK_MESSAGE(diamond.collector.diagnostics.empty(), diamond.text());
  CHECK(diamond.sources.size() == 4);
}

TEST_CASE("a chain of imports that never ends is stopped") {
  std::map<std::string, std::string> files;
  for (int i = 0; i < 200; ++i)
    files["dir/f" + std::to_string(i) + ".exp"] = "import \"f" + std::to_string(i + 1) + ".exp\"";
  Fixture fixture("import \"f0.exp\"", files);
  CHECK(fixture.slugs() == std::vector<std::string>{"import-unreadable"});
}

TEST_CASE("syntax errors are not followed by their consequences") {
  Fixture fixture("import std.image\nstudy s { workload image.mobilenet_v2(data = } measure nothing }");
  for (const diag::Diagnostic& one : fixture.collector.diagnostics) CHECK(diag::code(one.kind).starts_with("E01"));
}

namespace {

/// Whether a rule over the job's parameters holds at their defaults; nothing if it has no value there.
std::optional<bool> holds(const std::string& condition) {
  Fixture fixture(check::jobStudy("require " + condition + " measure step_time, accuracy"));
  REQUIRE_MESSAGE(fixture.emitter.errors() == 0, fixture.text());
  const check::Study& study = *fixture.program.studies[0];
  std::vector<const check::Value*> parameters;
  for (const auto& argument : study.uses[0].arguments) parameters.push_back(argument ? &*argument : nullptr);
  parameters[study.findParameter("rank")] = nullptr;  // inactive: the method is none
  check::System machine = check::System::unknown("box");
  machine.set("gpus", check::Value::number(4));
  check::Outcome outcome =
      check::evaluate(*study.rules.back().condition, {parameters.data(), parameters.size(), &machine.values});
  if (auto* value = std::get_if<check::Value>(&outcome)) return value->asBool();
  return std::nullopt;
}

}  // namespace

TEST_CASE("expressions mean what they say") {
  CHECK(holds("batch == 32") == true);
  CHECK(holds("batch * gpus / 3 * 3 == 32") == true);
  CHECK(holds("batch - 2 * 8 == 16") == true);
  CHECK(holds("-batch < 0 and not batch > 32") == true);
  CHECK(holds("size >= 224px and size < 225px") == true);
  CHECK(holds("size / 2 == 112px") == true);
  CHECK(holds("size / 2px == 112") == true);
  CHECK(holds("method in { none, lora }") == true);
  CHECK(holds("method not in { none, lora }") == false);
  CHECK(holds("none == method") == true);
  CHECK(holds("batch in 1..64") == true);
  CHECK(holds("batch in 1..64 by 2") == false);
  CHECK(holds("batch in 1..64 by *2") == true);
  CHECK(holds("batch in 3..64 by *2") == false);
  CHECK(holds("class < medium and class <= small and class != large") == true);
  CHECK(holds("rate == 0.5 and rate * 2 == 1") == true);
  CHECK(holds("data == fake(10)") == true);
  CHECK(holds("data == fake(11)") == false);
  CHECK(holds("gpus <= system.gpus") == true);
  CHECK(holds("gpus > system.gpus or batch == 1") == false);
}

TEST_CASE("and and or look right only where they must") {
  CHECK(holds("rank > 3") == std::nullopt);
  CHECK(holds("method == lora and rank > 3") == false);
  CHECK(holds("method != lora or rank > 3") == true);
  CHECK(holds("gpus <= system.nodes") == std::nullopt);
  CHECK(holds("gpus == 1 or 1 / (gpus - 1) > 0") == true);
  CHECK(holds("gpus == 2 or 1 / (gpus - 1) > 0") == std::nullopt);
  CHECK(holds("batch * 9223372036854775807 > 0") == std::nullopt);
}

TEST_CASE("text that is shown is squeezed") {
  CHECK(source::squeeze("  a \n\t b // tail\n c ") == "a b c");
  CHECK(source::squeeze("mnist( \"a  // b\" )") == "mnist( \"a  // b\" )");
  CHECK(source::squeeze("\"a\\\"  b\"  c") == "\"a\\\"  b\" c");
  CHECK(load::relativeTo("", "./data/x") == "data/x");
  CHECK(load::relativeTo("shared", "x") == "shared/x");
  CHECK(load::relativeTo("shared", "/x") == "/x");
  CHECK(load::relativeTo("shared", "../x") == "shared/../x");
}
