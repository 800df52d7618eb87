// Every script and every oddity of tests/parity/corpus.py against tiktoken's ids (tests/parity/make_text.py).

#include <doctest/doctest.h>
#include <llvm/Support/Base64.h>

#include "tests/support/text/golden.h"

namespace expc::text {
namespace {

TEST_CASE("texts in many scripts, and bytes that are no text, give tiktoken's ids") {
  auto tokenizer = Tokenizer::open(kGolden + "scripts.model");
  REQUIRE(tokenizer);
  const auto json = goldenJson("scripts.json");
  int compared = 0, broken = 0;
  for (const auto& value : *json.getAsObject()->getArray("cases")) {
    const auto& wanted = *value.getAsObject();
    std::vector<char> bytes;
    if (const auto base64 = wanted.getString("base64")) {
      const bool failed = bool(llvm::decodeBase64(*base64, bytes));
      REQUIRE(!failed);
      ++broken;
    } else {
      const auto text = *wanted.getString("text");
      bytes.assign(text.begin(), text.end());
    }
    const StringRef text(bytes.data(), bytes.size());
    CAPTURE(text.str());
    CHECK(encoded(*tokenizer, text) == tokensOf(*wanted.get("ids")));
    ++compared;
  }
  CHECK(compared > 180);
  CHECK(broken > 10);
}

}  // namespace
}  // namespace expc::text
