#pragma once

// What the tests of this directory share.

#include <doctest/doctest.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>

#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/data/text/tokenizer.h"
#include "tests/source_dir.h"

namespace expc::text {

inline const std::string kGolden = expc::test::sourceDir() + "/tests/parity/golden/text/";

inline std::string golden(const std::string& name) {
  auto buffer = llvm::MemoryBuffer::getFile(kGolden + name);
  REQUIRE(buffer);
  return (*buffer)->getBuffer().str();
}

inline json::Value goldenJson(const std::string& name) {
  auto json = base::parseJson(golden(name));
  REQUIRE(json);
  return std::move(*json);
}

inline std::vector<Token> tokensOf(const json::Value& value) {
  std::vector<Token> tokens;
  for (const auto& token : *value.getAsArray()) tokens.push_back(static_cast<Token>(*token.getAsInteger()));
  return tokens;
}

/// With begin_of_text before and end_of_text behind where asked for.
inline std::vector<Token> encoded(const Tokenizer& tokenizer, StringRef text, bool begin = false, bool end = false) {
  std::vector<Token> tokens;
  if (begin) tokens.push_back(tokenizer.special().begin_of_text);
  REQUIRE(!tokenizer.encode(text, tokens));
  if (end) tokens.push_back(tokenizer.special().end_of_text);
  return tokens;
}

inline Tokenizer toyTokenizer() {
  auto tokenizer = Tokenizer::open(kGolden + "toy_bpe.model");
  REQUIRE(tokenizer);
  return std::move(*tokenizer);
}

template <typename Result>
std::string messageOf(Expected<Result> result) {
  if (result) return "no error";
  return toString(result.takeError());
}

inline void has(const std::string& message, const char* part) {
  CAPTURE(message);
  CHECK(message.find(part) != std::string::npos);
}

}  // namespace expc::text
