#include <doctest/doctest.h>

#include "runtime/engine/setup.h"

using namespace expc::engine;
using List = std::vector<std::string>;

namespace {

CommandEnvironment of(const List& all, const List& passed = {}) {
  return llvm::cantFail(commandEnvironment(all, passed));
}

}  // namespace

TEST_CASE("commands get what is on the list, and what must agree makes the digest") {
  const List all{"PATH=/bin", "NAP=0.1", "HOME=/home/a", "LC_ALL=C", "SECRET=xyz", "TMPDIR=/tmp"};
  const CommandEnvironment environment = of(all);
  CHECK(environment.variables == List{"HOME=/home/a", "LC_ALL=C", "PATH=/bin", "TMPDIR=/tmp"});
  CHECK(environment.recorded.size() == 2);
  CHECK(environment.recorded.getString("PATH") == "/bin");
  CHECK(of({"PATH=/bin", "LC_ALL=C", "HOME=/home/b", "TMPDIR=/job/7", "NAP=3"}).digest == environment.digest);
  CHECK(of({"PATH=/usr/bin", "LC_ALL=C"}).digest != environment.digest);
  CHECK(of({"PATH=/bin"}).digest != environment.digest);
}

TEST_CASE("what is passed by name must agree, and its value is recorded nowhere") {
  const CommandEnvironment one = of({"NAP=0.1", "TOKEN=hunter2"}, {"NAP", "TOKEN"});
  CHECK(one.variables == List{"NAP=0.1", "TOKEN=hunter2"});
  CHECK(one.digest != of({"NAP=0.3", "TOKEN=hunter2"}, {"NAP", "TOKEN"}).digest);
  CHECK(one.recorded.getString("TOKEN")->starts_with("digest "));
  CHECK(llvm::toString(commandEnvironment({"A=1"}, {"B"}).takeError()) ==
        "--pass-env B: that variable is not set here; set it, or leave the option out");
  CHECK(llvm::toString(commandEnvironment({"A=1"}, {"A=2"}).takeError()).find("takes a name alone") !=
        std::string::npos);
}

TEST_CASE("a variable that cannot be told to a trial is refused, if it would be passed") {
  CHECK(of({"SECRET=b\xfcro"}).variables.empty());
  CHECK(llvm::toString(commandEnvironment({"HOME=/home/b\xfcro"}, {}).takeError()).find("HOME is not UTF-8") !=
        std::string::npos);
}
