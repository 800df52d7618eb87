#include "runtime/live/server.h"

#include <doctest/doctest.h>

namespace expc::live {
namespace {

Answer asked(const std::string& method, const std::string& target, const std::string& host = "127.0.0.1:8080") {
  return answer({method, target, host}, 8080, [] { return std::string("{}"); });
}

}  // namespace

TEST_CASE("the page's parts are given to who reads them on this host") {
  for (const char* target : {"/", "/script.js", "/style.css", "/state.json"}) {
    const Answer given = asked("GET", target, "localhost:8080");
    CHECK(given.status == 200);
    CHECK(!given.body.empty());
  }
  CHECK(asked("HEAD", "/").status == 200);
  CHECK(asked("GET", "/").type.starts_with("text/html"));
}

TEST_CASE("nothing else is answered") {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", ""}) CHECK(asked(method, "/").status == 405);
  for (const char* target : {"", "//", "/../x", "/state.json?x", "/results", "http://127.0.0.1:8080/"})
    CHECK(asked("GET", target).status == 404);
  for (const char* host : {"", "127.0.0.1", "localhost", "expc.example:8080", "127.0.0.1:80800", "127.0.0.1:8081"})
    CHECK(asked("GET", "/", host).status == 403);
  bool made = false;
  answer({"POST", "/state.json", "127.0.0.1:8080"}, 8080, [&] {
    made = true;
    return std::string();
  });
  CHECK(!made);
}

}  // namespace expc::live
