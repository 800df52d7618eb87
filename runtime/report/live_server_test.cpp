#include "runtime/report/live_server.h"

#include <doctest/doctest.h>

#include <string>

namespace expc::report {
namespace {

PageAnswer asked(const std::string& method, const std::string& target, const std::string& host = "127.0.0.1:8080") {
  return answer({method, target, host}, 8080, 2, [](size_t study) { return "page " + std::to_string(study); });
}

}  // namespace

TEST_CASE("the pages are given to who reads them on this host") {
  CHECK(asked("GET", "/", "localhost:8080").body == "page 0");
  CHECK(asked("GET", "/0").body == "page 0");
  CHECK(asked("GET", "/1").body == "page 1");
  CHECK(asked("HEAD", "/").status == 200);
  CHECK(asked("GET", "/").type.starts_with("text/html"));
}

TEST_CASE("nothing else is answered") {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", ""}) CHECK(asked(method, "/").status == 405);
  for (const char* target : {"", "//", "/2", "/-1", "/../x", "/0?x", "/results", "http://127.0.0.1:8080/"})
    CHECK(asked("GET", target).status == 404);
  for (const char* host : {"", "127.0.0.1", "localhost", "expc.example:8080", "127.0.0.1:80800", "127.0.0.1:8081"})
    CHECK(asked("GET", "/", host).status == 403);
  bool made = false;
  answer({"POST", "/", "127.0.0.1:8080"}, 8080, 1, [&](size_t) {
    made = true;
    return std::string();
  });
  CHECK(!made);
}

}  // namespace expc::report
