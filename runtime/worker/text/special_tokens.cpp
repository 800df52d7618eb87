#include "runtime/worker/text/special_tokens.h"

#include <fmt/format.h>

#include <algorithm>

namespace expc::text {

SpecialTokens SpecialTokens::llama3(Token first) {
  // Offsets from the end of the vocabulary; 11 is unused, and `image` lies outside of the 256 rows that the models'
  // embeddings have for these.
  std::vector<std::pair<std::string, Token>> all = {{"<|begin_of_text|>", 0},
                                                    {"<|end_of_text|>", 1},
                                                    {"<|reserved_special_token_0|>", 2},
                                                    {"<|reserved_special_token_1|>", 3},
                                                    {"<|finetune_right_pad_id|>", 4},
                                                    {"<|step_id|>", 5},
                                                    {"<|start_header_id|>", 6},
                                                    {"<|end_header_id|>", 7},
                                                    {"<|eom_id|>", 8},
                                                    {"<|eot_id|>", 9},
                                                    {"<|python_tag|>", 10},
                                                    {"<|video|>", 12},
                                                    {"<|image|>", 256}};
  for (Token i = 0; i < 243; ++i) all.emplace_back(fmt::format("<|reserved_special_token_{}|>", i + 2), 13 + i);
  for (auto& [name, id] : all) id += first;
  return llvm::cantFail(named(std::move(all)), "Llama 3's names are complete");
}

llvm::Expected<SpecialTokens> SpecialTokens::named(std::vector<std::pair<std::string, Token>> all) {
  SpecialTokens result;
  const std::pair<const char*, Token*> needed[] = {{"<|begin_of_text|>", &result.begin_of_text},
                                                   {"<|end_of_text|>", &result.end_of_text},
                                                   {"<|start_header_id|>", &result.start_header},
                                                   {"<|end_header_id|>", &result.end_header},
                                                   {"<|eot_id|>", &result.end_of_turn}};
  const auto find = [&](const char* name) -> Token {
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& token) { return token.first == name; });
    return found == all.end() ? -1 : found->second;
  };
  std::string missing;
  for (const auto& [name, place] : needed)
    if ((*place = find(name)) < 0) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
  if (!missing.empty())
    return failure(
        "it has no special token {}; conversations are written with those of Llama 3, so a tokenizer of "
        "Llama 3 is needed",
        missing);
  // Llama 3's first release had no token for padding; what stands there is masked, so any will do.
  result.pad = find("<|finetune_right_pad_id|>");
  if (result.pad < 0) result.pad = result.end_of_text;
  result.all = std::move(all);
  return result;
}

}  // namespace expc::text
