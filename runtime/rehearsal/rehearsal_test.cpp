#include "runtime/rehearsal/rehearsal.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "runtime/base/json.h"
#include "tests/support/folder.h"
#include "tests/support/rehearsal/example_rehearsal.h"
#include "tests/support/text/has.h"

using namespace expc;
using namespace expc::rehearsal;

namespace {

Study example() {
  return {"study",
          {exampleRun("a"), exampleEnd("b", Outcome::DoesNotFit, "out of memory"),
           exampleEnd("c", Outcome::Failed, "it \x1b[31m fails"), exampleEnd("d", Outcome::NotRehearsed, "a command")}};
}

struct Results : expc::test::TestFolder {
  Results() { std::filesystem::create_directories(folderOf(path)); }
};

std::string errorOf(llvm::Expected<Study> study) {
  REQUIRE(!study);
  return llvm::toString(study.takeError());
}

using expc::test::has;

}  // namespace

TEST_CASE("what is written is read again") {
  const Results results;
  CHECK(llvm::cantFail(read(results.path, "study")).points.empty());
  llvm::cantFail(write(results.path, example()));
  const Study again = llvm::cantFail(read(results.path, "study"));
  CHECK(base::canonicalJson(toJson(again)) == base::canonicalJson(toJson(example())));
  REQUIRE(again.find("a"));
  CHECK(again.find("a")->rehearsed->ranks[1].launches == 1990);
  CHECK(again.find("a")->cards == Cards{4, 94'000'000'000});
  CHECK((again.find("b")->outcome == Outcome::DoesNotFit));
  CHECK(!again.find("e"));
  CHECK(std::distance(std::filesystem::directory_iterator(folderOf(results.path)), {}) == 1);  // and nothing beside it
}

TEST_CASE("a point is kept once") {
  Study study = example();
  study.put(exampleEnd("a", Outcome::Failed, "since then"));
  study.put(exampleRun("e"));
  CHECK(study.points.size() == 5);
  CHECK(study.find("a")->reason == "since then");
}

TEST_CASE("names of studies stay in the folder") {
  for (const char* name : {"", ".", "..", "../x", "/etc/x", "a/b", "a/"}) {
    CAPTURE(name);
    auto path = pathOf("results", name);
    CHECK(!path);
    CHECK(has(llvm::toString(path.takeError()), "has no file of rehearsals: its name "));
  }
  CHECK(llvm::cantFail(pathOf("results", "x..y")) == "results/rehearsals/x..y.json");
}

TEST_CASE("every member is needed, and no other is known") {
  const llvm::json::Value whole = toJson(example());
  for (const char* member : {"schema", "study", "points"}) {
    llvm::json::Object object = *whole.getAsObject();
    object.erase(member);
    CHECK(has(errorOf(studyFromJson(std::move(object))), member));
  }
  const auto changed = [&](auto change) {
    llvm::json::Object object = *whole.getAsObject();
    change(*(*object.getArray("points"))[0].getAsObject());
    return errorOf(studyFromJson(std::move(object)));
  };
  for (const char* member : {"point", "label", "outcome", "reason", "estimates", "cards", "worker_build", "at",
                             "seconds", "notes", "rehearsed"}) {
    CAPTURE(member);
    CHECK(has(changed([&](llvm::json::Object& point) { point.erase(member); }), std::string("$.points[0].") + member));
    CHECK(has(changed([&](llvm::json::Object& point) { point[member] = true; }), std::string("$.points[0].") + member));
  }
  CHECK(has(changed([](llvm::json::Object& point) { point["more"] = 1; }), "more"));
  CHECK(has(changed([](llvm::json::Object& point) { point["outcome"] = "failed"; }),
            "is allowed only for a point that runs"));
  CHECK(has(changed([](llvm::json::Object& point) { point["point"] = "b"; }), "a second entry of the same point"));
}

TEST_CASE("a damaged file is an error that names it and the way out") {
  const Results results;
  const std::string path = llvm::cantFail(pathOf(results.path, "study"));
  const std::string text = base::prettyJson(toJson(example()));
  for (const std::string& damaged : {std::string(), std::string("{"), std::string("[]"), text.substr(0, 500),
                                     std::string("{\"schema\":\"expc.rehearsal/2\"}"),
                                     std::string("{\"\u001b[31m\\n\":1}"), std::string(3000, '[')}) {
    std::ofstream(path) << damaged;
    const std::string why = errorOf(read(results.path, "study"));
    CHECK(has(why, path));
    CHECK(has(why, "remove it, and `expc rehearse` makes it again"));
    CHECK(!has(why, "\n"));
  }
  for (size_t at = 0; at < text.size(); at += 3) {  // none of these may crash
    std::string damaged = text;
    damaged[at] ^= 1;
    if (auto json = base::parseJson(damaged))
      llvm::consumeError(studyFromJson(*json).takeError());
    else
      llvm::consumeError(json.takeError());
  }
  std::ofstream(path) << base::prettyJson(toJson({"other", {}}));
  CHECK(has(errorOf(read(results.path, "study")), "it is of the study 'other'"));
  std::filesystem::remove(path);
  std::filesystem::create_directories(path);
  CHECK(has(errorOf(read(results.path, "study")), "Is a directory"));
  CHECK(has(llvm::toString(write(results.path, example())), "make the folder writable"));
}
