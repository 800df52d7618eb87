#pragma once

#include <llvm/ADT/StringMap.h>
#include <llvm/Support/Error.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/worker/text/vocabulary.h"

namespace expc::text {

/// Tokens that no text becomes, by name, and those among them that conversations are made of.
struct SpecialTokens {
  /// Llama 3's, behind a vocabulary of `first` tokens.
  static SpecialTokens llama3(Token first);
  /// By the names of Llama 3. An error: one that conversations need is missing.
  static llvm::Expected<SpecialTokens> named(std::vector<std::pair<std::string, Token>> all);

  Token begin_of_text = -1, end_of_text = -1;
  Token start_header = -1, end_header = -1;
  Token end_of_turn = -1;
  Token pad = -1;
  std::vector<std::pair<std::string, Token>> all;
};

}  // namespace expc::text
