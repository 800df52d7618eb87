#include "runtime/plan/command.h"

#include <doctest/doctest.h>

#include "runtime/base/json.h"
#include "runtime/protocol/trial.h"

using namespace expc::base;
using namespace expc::plan;
using namespace expc::protocol;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

namespace {

std::vector<std::string> expanded(std::vector<std::string> arguments) {
  TrialSpec spec;
  spec.trial = "17";
  spec.folder = "/results/trials/17";
  spec.seed = 7;
  spec.settings = Object{{"steps", 300}};
  spec.parameters = Object{{"method", "lora"},
                           {"gpus", 2},
                           {"rate", 0.00015},
                           {"size", 42949672960},
                           {"pin", true},
                           {"file", "/data/a b"},
                           {"levels", Array{1, 2.5, "x"}}};
  return llvm::cantFail(expandArguments(arguments, argumentValues(spec)));
}

std::string refusal(const std::string& argument) {
  auto result = expandArguments({argument}, {});
  if (result) return "(accepted)";
  return llvm::toString(result.takeError());
}

using List = std::vector<std::string>;

}  // namespace

TEST_CASE("parameters stand in arguments as a program reads them") {
  CHECK(expanded({"train", "--gpus=${gpus}", "${method}-${gpus}", "${rate}", "${size}", "${pin}"}) ==
        List{"train", "--gpus=2", "lora-2", "0.00015", "42949672960", "true"});
  CHECK(expanded({"${file}", "$$HOME", "$${gpus}", "${levels}"}) == List{"/data/a b", "$HOME", "${gpus}", "1,2.5,x"});
  CHECK(expanded({"${seed} ${trial} ${steps} ${trial_folder}"}) == List{"7 17 300 /results/trials/17"});
  CHECK(argumentText(1e-300).substr(0, 10) == "0.00000000");
  CHECK(argumentText(1e300).find('e') == std::string::npos);
  CHECK(argumentText(-2.0) == "-2");
  CHECK(argumentText(uint64_t(18446744073709551615u)) == "18446744073709551615");
  CHECK(argumentText(Object{{"mnist", Array{"a"}}}) == R"({"mnist":["a"]})");
}

TEST_CASE("an inactive parameter takes its argument and its option along") {
  CHECK(expanded({"train", "--rank", "${rank}", "--gpus", "${gpus}"}) == List{"train", "--gpus", "2"});
  CHECK(expanded({"train", "--rank=${rank}", "x"}) == List{"train", "x"});
  CHECK(expanded({"train", "-v", "pre${rank}"}) == List{"train", "-v"});  // not an option's whole value
  CHECK(expanded({"train", "-o=1", "${rank}"}) == List{"train", "-o=1"});
  CHECK(expanded({"train", "-a", "${rank}", "${rank}"}) == List{"train"});
  CHECK(expanded({"train", "x", "${rank}"}) == List{"train", "x"});
  CHECK(expanded({"${epochs}"}).empty());
}

TEST_CASE("what is no ${name} is refused with the argument") {
  CHECK(refusal("a$b") == "the argument 'a$b': a parameter is written ${name}, a dollar sign $$");
  CHECK(refusal("${").find("a parameter is written") != std::string::npos);
  CHECK(refusal("${}").find("a parameter is written") != std::string::npos);
  CHECK(refusal("x$").find("a parameter is written") != std::string::npos);
  CHECK(refusal("plain") == "(accepted)");
  CHECK(llvm::cantFail(namesIn("${a} $$ ${b}${a}")) == std::set<std::string>{"a", "b"});
  auto null = expandArguments({"${a}"}, {{"a", std::string("x\0y", 3)}});
  CHECK(llvm::toString(null.takeError()).find("null character") != std::string::npos);
}

TEST_CASE("a program's name is a path only if it has a slash") {
  CHECK(programPath("python3", "/study") == "python3");
  CHECK(programPath("./bench", "/study") == "/study/bench");
  CHECK(programPath("../bin/bench", "/a/study") == "/a/bin/bench");
  CHECK(programPath("/usr/bin/zstd", "/study") == "/usr/bin/zstd");
}
