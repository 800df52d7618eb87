#include "runtime/data/text/splitter.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/data/text/characters.h"

namespace expc::text {
namespace {

std::vector<std::string> byHand(StringRef text) {
  std::vector<std::string> pieces;
  splitAsLlama3(text, [&](StringRef piece) { pieces.push_back(piece.str()); });
  return pieces;
}

std::vector<std::string> byPattern(const Splitter& splitter, StringRef text) {
  std::vector<std::string> pieces;
  CHECK(!splitter.split(text, [&](StringRef piece) { pieces.push_back(piece.str()); }));
  return pieces;
}

std::string utf8(uint32_t c) {
  std::string text;
  const auto byte = [&](uint32_t value) { text += char(value); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xc0 | c >> 6), byte(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    byte(0xe0 | c >> 12), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f));
  } else {
    byte(0xf0 | c >> 18), byte(0x80 | (c >> 12 & 0x3f)), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f));
  }
  return text;
}

TEST_CASE("white space, contractions and numbers are cut as the pattern says") {
  CHECK(byHand("I'm  12345\n\n x") == std::vector<std::string>{"I", "'m", " ", " ", "123", "45", "\n\n", " x"});
  CHECK(byHand("it'S 'RE 'x") == std::vector<std::string>{"it", "'S", " '", "RE", " '", "x"});
  CHECK(byHand("a   ") == std::vector<std::string>{"a", "   "});
  CHECK(byHand("!?\r\n\r\n-") == std::vector<std::string>{"!?\r\n\r\n", "-"});
  CHECK(byHand("").empty());
}

TEST_CASE("splitting by hand is what PCRE2 makes of the pattern") {
  auto pattern = Splitter::byPcre2(kLlama3Pattern);
  REQUIRE(pattern);
  // Characters that the alternatives tell apart, and some that look alike: the long s, Mongolian's vowel separator
  // (PCRE2's own \s has it), information separators, marks, letters and digits of other scripts.
  std::vector<std::string> alphabet;
  for (const uint32_t c :
       {0x27u, 0x73u, 0x53u,  0x17fu, 0x74u,   0x72u,    0x65u,   0x76u,   0x6cu,   0x64u,   0x6du,   0x20u,  0x09u,
        0x0au, 0x0du, 0x0bu,  0x1cu,  0x85u,   0xa0u,    0x180eu, 0x2028u, 0x3000u, 0x30u,   0x39u,   0x663u, 0xbdu,
        0x2cu, 0x21u, 0x301u, 0xe9u,  0x4f60u, 0x1f600u, 0x200du, 0x00u,   0x7fu,   0x212au, 0x1d7ceu})
    alphabet.push_back(utf8(c));
  uint32_t random = 7;
  const auto next = [&] { return (random = random * 1664525u + 1013904223u) >> 8; };
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (uint32_t length = next() % 12; length > 0; --length) {
      const std::string& character = alphabet[next() % alphabet.size()];
      for (uint32_t repeat = next() % 4 == 0 ? 1 + next() % 4 : 1; repeat > 0; --repeat) text += character;
    }
    CAPTURE(text);
    REQUIRE(byHand(text) == byPattern(*pattern, text));
  }
}

TEST_CASE("classes hold what PCRE2's older Unicode knows, and more letters only") {
  auto letters = Splitter::byPcre2("\\p{L}|\\p{N}|\\s");
  REQUIRE(letters);
  auto kinds = std::vector<Splitter>();
  for (const char* one : {"\\p{L}", "\\p{N}", "\\s"}) {
    auto compiled = Splitter::byPcre2(std::string("(?=") + one + ").");
    REQUIRE(compiled);
    kinds.push_back(std::move(*compiled));
  }
  // A sample: every 37th code point, and all below 0x3000.
  int differing = 0;
  for (uint32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 37) {
    if (c >= 0xd800 && c < 0xe000) continue;
    const std::string text = utf8(c) + "\x01";  // a match cuts between the two
    CharacterClass known = CharacterClass::Other;
    for (size_t kind = 0; kind < kinds.size(); ++kind)
      if (byPattern(kinds[kind], text).size() == 2) known = static_cast<CharacterClass>(kind + 1);
    if (known != classOf(c)) {
      CHECK(known == CharacterClass::Other);
      ++differing;
    }
  }
  CHECK(differing < 2'000);
}

TEST_CASE("other patterns keep what they do not match") {
  auto pattern = Splitter::byPcre2("[a-z]+");
  REQUIRE(pattern);
  CHECK(byPattern(*pattern, "12ab34cd5") == std::vector<std::string>{"12", "ab", "34", "cd", "5"});
  CHECK(byPattern(*pattern, "é") == std::vector<std::string>{"é"});
}

TEST_CASE("a pattern that is wrong or never ends says so") {
  auto wrong = Splitter::byPcre2("(a");
  REQUIRE(!wrong);
  CHECK(toString(wrong.takeError()).find("'(a' is invalid") != std::string::npos);
  for (const char* unlike : {"\\w+", "a\\b", "[\\h]", "(a)\\1", "a\\Kb"}) {
    auto refused = Splitter::byPcre2(unlike);
    REQUIRE(!refused);
    CHECK(toString(refused.takeError()).find("because regular expressions differ in its meaning") != std::string::npos);
  }
  auto named = Splitter::byPcre2("[[:alpha:]]");
  REQUIRE(!named);
  CHECK(toString(named.takeError()).find("a named class") != std::string::npos);
  auto endless = Splitter::byPcre2("(?:a+)+[0-9]");
  REQUIRE(endless);
  auto error = endless->split(std::string(64, 'a'), [](StringRef) {});
  CHECK(toString(std::move(error)).find("was given up") != std::string::npos);
}

TEST_CASE("strip is Python's") {
  CHECK(strip(" \t\x1c\xc2\xa0 a b \xe3\x80\x80\n") == "a b");
  CHECK(strip(" \n").empty());
  CHECK(strip("").empty());
  CHECK(strip("\xe2\x80\x8b") == "\xe2\x80\x8b");  // a zero-width space is none
}

}  // namespace
}  // namespace expc::text
