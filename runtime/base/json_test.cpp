#include "runtime/base/json.h"

#include <doctest/doctest.h>

#include <limits>

#include "runtime/base/hash.h"
#include "runtime/plan/plan.h"

using namespace expc::base;
using namespace expc::plan;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

TEST_CASE("canonical JSON sorts keys and drops white space") {
  CHECK(canonicalJson(Object{{"b", 1}, {"a", Array{true, nullptr, "x"}}, {"", 0}}) ==
        R"({"":0,"a":[true,null,"x"],"b":1})");
  const auto parsed = llvm::cantFail(parseJson(" { \"b\" : 2.50, \"a\":\"\\u0041\" } "));
  CHECK(canonicalJson(parsed) == R"({"a":"A","b":2.5})");
}

TEST_CASE("equal numbers give equal text, however they are stored") {
  CHECK(canonicalJson(Value(2.0)) == "2");
  CHECK(canonicalJson(Value(-0.0)) == "0");
  CHECK(canonicalJson(Value(0.1)) == "0.1");
  CHECK(canonicalJson(Value(1.0 / 3)) == "0.3333333333333333");
  CHECK(canonicalJson(Value(std::numeric_limits<int64_t>::max())) == "9223372036854775807");
  CHECK(canonicalJson(Value(std::numeric_limits<int64_t>::min())) == "-9223372036854775808");
  CHECK(canonicalJson(Value(std::numeric_limits<uint64_t>::max())) == "18446744073709551615");
  CHECK(canonicalJson(Value(0x1p60)) == canonicalJson(Value(int64_t{1} << 60)));
  CHECK(canonicalJson(Value(0x1p63)) == canonicalJson(Value(uint64_t{1} << 63)));
  CHECK(canonicalJson(Value(-0x1p63)) == "-9223372036854775808");
  CHECK(canonicalJson(Value(0x1p80)) == "1.2089258196146292e+24");
}

TEST_CASE("every double comes back as it was") {
  for (const double number : {5e-324, 1.7976931348623157e308, 0.30000000000000004, 123456789.125, -1e-7, 1e22, 1e16}) {
    const auto back = llvm::cantFail(parseJson(canonicalJson(Value(number))));
    CHECK(*back.getAsNumber() == number);
  }
}

TEST_CASE("strings are escaped, and only where JSON asks for it") {
  CHECK(canonicalJson(Value("a\"\\\n\t\x01/é")) == "\"a\\\"\\\\\\n\\t\\u0001/é\"");
  CHECK(jsonText("bad \xff byte").getAsString() == "bad \xef\xbf\xbd byte");
}

TEST_CASE("pretty JSON is the same value") {
  const Value value = Object{{"a", Array{1, 2}}, {"b", Array{Object{{"c", 0.1}}}}, {"d", Object{}}, {"e", Array{}}};
  const std::string text = prettyJson(value);
  CHECK(text == "{\n  \"a\": [1, 2],\n  \"b\": [\n    {\n      \"c\": 0.1\n    }\n  ],\n  \"d\": {},\n  \"e\": []\n}");
  CHECK(llvm::cantFail(parseJson(text)) == value);
}

TEST_CASE("nesting is limited before LLVM's parser sees it") {
  CHECK(bool(parseJson(std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']'))));
  for (const std::string& text : {std::string(1000000, '['), std::string(kMaxJsonDepth + 1, '{')}) {
    auto value = parseJson(text);
    REQUIRE_FALSE(bool(value));
    CHECK(llvm::toString(value.takeError()) == "nested deeper than 200 levels at byte 200");
  }
  // Brackets in a string do not nest.
  CHECK(bool(parseJson("\"" + std::string(5000, '[') + "\\\"" + std::string(5000, '{') + "\"")));
}

TEST_CASE("escaped characters are read, those of two halves too") {
  const auto read = [](std::string_view text) {
    auto value = parseJson(text);
    REQUIRE(value);
    return value->getAsString()->str();
  };
  for (const std::string_view end : {"\"\\", "\"\\u", "\"\\ud840", "\"\\ud840\\udc0"}) {
    auto cut = parseJson(end);
    CHECK(!cut);
    llvm::consumeError(cut.takeError());
  }
  CHECK(read(R"("\u00e9 \ud83d\ude00")") == "é 😀");
  CHECK(read(R"("a\ud840\udc00b\uDBFF\uDFFF")") == "a\U00020000b\U0010ffff");
  CHECK(read(R"("\n")") == "\n");
  CHECK(read(R"("\\ud840\udc00")") == "\\ud840\xef\xbf\xbd");  // a backslash, and half a character
  CHECK(read(R"("\ud840x\ud840\ud840\udc00")") == "\xef\xbf\xbdx\xef\xbf\xbd\U00020000");
}

TEST_CASE("bad text is an error") {
  for (const char* text : {"", "{", "nul", "[1,]", "\"\xff\"", "{\"a\":}", "1 2"}) {
    CAPTURE(text);
    auto value = parseJson(text);
    CHECK_FALSE(bool(value));
    llvm::consumeError(value.takeError());
  }
}

TEST_CASE("the short hash is BLAKE3's") {
  // First bytes of the test vector for empty input in the BLAKE3 repository.
  CHECK(shortHash("") == "af1349b9f5f9a1a6");
  CHECK(shortHash("a") != shortHash("b"));
}
