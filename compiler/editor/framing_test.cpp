#include <doctest/doctest.h>

#include <vector>

#include "compiler/editor/server.h"

using namespace expc::editor;

namespace {

std::string item(Deframer& deframer) {
  auto next = deframer.next();
  if (!next) return "nothing";
  return next->error.empty() ? next->body : "error: " + next->error;
}

}  // namespace

TEST_CASE("messages come whole, however their bytes arrive") {
  const std::string bytes = "Content-Length: 2\r\n\r\n{}content-length:3\r\nContent-Type: x\r\n\r\n[1]";
  for (size_t step = 1; step <= bytes.size(); ++step) {
    Deframer deframer;
    std::vector<std::string> seen;
    for (size_t at = 0; at < bytes.size(); at += step) {
      deframer.feed(std::string_view(bytes).substr(at, step));
      while (auto next = deframer.next()) seen.push_back(next->body + next->error);
    }
    CHECK(seen == std::vector<std::string>{"{}", "[1]"});
  }
}

TEST_CASE("a header that says no length is skipped with what follows it") {
  for (const char* header : {"Length: 2", "Content-Length: x", "Content-Length: -2", "Content-Length:",
                             "Content-Length: 2\r\nContent-Length: 3", "Content-Length: 99999999999999999999999"}) {
    Deframer deframer;
    deframer.feed(std::string(header) + "\r\n\r\n{}garbage Content-Length: 2\r\n\r\n[]");
    CHECK(item(deframer).starts_with("error: a header without"));
    CHECK(item(deframer) == "[]");
    CHECK(item(deframer) == "nothing");
  }
}

TEST_CASE("a header without end does not grow") {
  Deframer deframer;
  deframer.feed(std::string(kMaxHeader + 1, 'x'));
  CHECK(item(deframer).starts_with("error: a header of more"));
  for (int at = 0; at < 100; ++at) {
    deframer.feed(std::string(kMaxHeader, 'x'));
    CHECK(item(deframer) == "nothing");
  }
  deframer.feed("Content-");
  CHECK(item(deframer) == "nothing");
  deframer.feed("Length: 2\r\n\r\n{}");
  CHECK(item(deframer) == "{}");
}

TEST_CASE("a body that is too large is skipped") {
  Deframer deframer;
  deframer.feed("Content-Length: " + std::to_string(kMaxBody + 10) + "\r\n\r\n");
  CHECK(item(deframer).starts_with("error: a message of"));
  deframer.feed(std::string(kMaxBody, ' '));
  CHECK(item(deframer) == "nothing");
  deframer.feed(std::string(10, ' ') + "Content-Length: 4\r\n\r\nnull");
  CHECK(item(deframer) == "null");
}
