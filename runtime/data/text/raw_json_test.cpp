#include "runtime/data/text/raw_json.h"

#include <doctest/doctest.h>

namespace expc::text {
namespace {

TEST_CASE("values are written as Python's json.dumps does, in the file's order") {
  const char* text =
      R"( {"b" : [1, -0, 2.50, 1e5, 1E22, 1e-7 , {} ,[]], "a":{"\u00e9\n\u0001":"\"\\\/ü{]","n":null}, "t":true} )";
  CHECK(asPython(text) ==
        R"({"b": [1, 0, 2.5, 100000.0, 1e+22, 1e-07, {}, []], "a": {"é\n\u0001": "\"\\/ü{]", "n": null}, "t": true})");
  CHECK(asPython(R"({"a":[1,{"b":[]}],"c":{}})", 4) ==
        "{\n    \"a\": [\n        1,\n        {\n            \"b\": []\n        }\n    ],\n    \"c\": {}\n}");
  CHECK(asPython("\"x\"") == "\"x\"");
}

TEST_CASE("values are found by key and place") {
  const StringRef text = R"({"x": {"y": [1 , "a,]"]}, "\u0079": 7, "z": 1, "z": [2]})";
  CHECK(rawValue(text, "x") == R"({"y": [1 , "a,]"]})");
  CHECK(rawValue(text, "y") == "7");
  CHECK(rawValue(text, "z") == "[2]");
  CHECK(rawValue(text, "w").empty());
  CHECK(rawValue("3", "w").empty());
  CHECK(rawElements(R"([1 , "a,]", {"b": [3]}])") == std::vector<StringRef>{"1", "\"a,]\"", R"({"b": [3]})"});
  CHECK(rawElements("{}").empty());
  // Text that no parser accepted is read to its end, and not beyond.
  for (const char* broken : {"{", "[", "[1", "{\"a\"", "{\"a\":", "\"", "\"\\", "[}", "{]", ",", "[,]", "{,}"}) {
    asPython(broken, 2);
    rawValue(broken, "a");
    rawElements(broken);
  }
}

}  // namespace
}  // namespace expc::text
