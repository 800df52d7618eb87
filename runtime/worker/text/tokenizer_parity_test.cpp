// Every script and every oddity of tests/parity/corpus.py against tiktoken's ids (tests/parity/make_text.py).

#include <doctest/doctest.h>
#include <llvm/Support/Base64.h>
#include <llvm/Support/MemoryBuffer.h>

#include "runtime/plan/json.h"
#include "runtime/worker/text/tokenizer.h"

namespace expc::text {
namespace {

TEST_CASE("texts in many scripts, and bytes that are no text, give tiktoken's ids") {
  const std::string folder = EXPC_SOURCE_DIR "/tests/parity/golden/text/";
  auto tokenizer = Tokenizer::open(folder + "scripts.model");
  REQUIRE(tokenizer);
  auto buffer = llvm::MemoryBuffer::getFile(folder + "scripts.json");
  REQUIRE(buffer);
  auto json = plan::parseJson((*buffer)->getBuffer());
  REQUIRE(json);
  int compared = 0, broken = 0;
  for (const auto& value : *json->getAsObject()->getArray("cases")) {
    const auto& wanted = *value.getAsObject();
    std::vector<char> bytes;
    if (const auto base64 = wanted.getString("base64")) {
      const bool failed = static_cast<bool>(llvm::decodeBase64(*base64, bytes));
      REQUIRE(!failed);
      ++broken;
    } else {
      const auto text = *wanted.getString("text");
      bytes.assign(text.begin(), text.end());
    }
    const llvm::StringRef text(bytes.data(), bytes.size());
    CAPTURE(text.str());
    std::vector<Token> ids;
    for (const auto& id : *wanted.getArray("ids")) ids.push_back(static_cast<Token>(*id.getAsInteger()));
    auto tokens = tokenizer->encode(text);
    REQUIRE(tokens);
    CHECK(*tokens == ids);
    ++compared;
  }
  CHECK(compared > 180);
  CHECK(broken > 10);
}

}  // namespace
}  // namespace expc::text
