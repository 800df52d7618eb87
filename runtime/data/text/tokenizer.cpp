// Opens tokenizers, encodes and decodes. Cutting long texts looks odd but is part of the definition: the recipes cut
// before they encode, since tiktoken could not take longer texts, and the cuts change tokens.

#include "runtime/data/text/tokenizer.h"

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/Path.h>

#include <algorithm>

#include "runtime/base/entry.h"
#include "runtime/base/files/files.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/data/text/characters.h"

namespace expc::text {
namespace {

constexpr size_t kLongestText = 400'000, kLongestRun = 25'000;  // in characters
constexpr uint64_t kLargestFile =
    128 << 20;  // Llama 3's tokenizer.json has 17 MB; a parsed one takes some times as much

/// Calls `use` for each part of a text between the places where the recipes cut it. The text must be valid UTF-8.
Error eachCut(StringRef text, function_ref<Error(StringRef)> use) {
  if (text.size() <= kLongestRun) return use(text);  // the usual case; a text has at most as many characters as bytes
  size_t begin = 0, characters = 0, run = 0;
  bool run_is_space = false;
  for (size_t at = 0; at < text.size();) {
    const Character character = characterAt(text.data() + at);
    const bool is_space = isPythonSpace(character.code_point);
    // The count starts anew at each cut by length; a cut by runs does not affect it.
    if (characters == kLongestText) characters = 0;
    // Two reasons to cut before this character: the text is full, or the run of its kind is.
    const bool fresh = characters == 0;
    const bool too_long = !fresh && is_space == run_is_space && run == kLongestRun;
    if ((fresh || too_long) && at > begin) {
      TRY(use(text.slice(begin, at)));
      begin = at;
    }
    run = fresh || too_long || is_space != run_is_space ? 1 : run + 1;
    run_is_space = is_space;
    ++characters;
    at += character.bytes;
  }
  return use(text.substr(begin));
}

}  // namespace

SpecialTokens SpecialTokens::llama3(Token first) {
  // Offsets from the end of the vocabulary, as in Llama 3's own code. 11 is unused, and `image` lies behind the 256
  // rows that the models' embeddings have for special tokens.
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
  return cantFail(named(std::move(all)), "Llama 3's names are complete");
}

Expected<SpecialTokens> SpecialTokens::named(std::vector<std::pair<std::string, Token>> all) {
  SpecialTokens result;
  const std::pair<const char*, Token*> needed[] = {{"<|begin_of_text|>", &result.begin_of_text},
                                                   {"<|end_of_text|>", &result.end_of_text},
                                                   {"<|start_header_id|>", &result.start_header},
                                                   {"<|end_header_id|>", &result.end_header},
                                                   {"<|eot_id|>", &result.end_of_turn}};
  const auto find = [&](const char* name) -> Token {
    const auto* found = base::named(all, name);
    return found ? found->second : -1;
  };
  std::string missing;
  for (const auto& [name, place] : needed)
    if ((*place = find(name)) < 0) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
  if (!missing.empty())
    return failure(
        "it has no special token {}; conversations are written with those of Llama 3, so a tokenizer of "
        "Llama 3 is needed",
        missing);
  // Llama 3's first release had no token for padding. Padding is masked, so any token will do.
  result.pad = find("<|finetune_right_pad_id|>");
  if (result.pad < 0) result.pad = result.end_of_text;
  result.all = std::move(all);
  return result;
}

Tokenizer::Tokenizer(std::string origin, Vocabulary vocabulary, SpecialTokens special)
    : origin_(std::move(origin)), vocabulary_(std::move(vocabulary)), special_(std::move(special)) {
  for (size_t at = 0; at < special_.all.size(); ++at) special_names_[special_.all[at].second] = at;
  // Only the special tokens that conversations use count: some of Llama 3's others lie behind the embedding.
  Token most = vocabulary_.size() - 1;
  for (const Token id : {special_.begin_of_text, special_.end_of_text, special_.start_header, special_.end_header,
                         special_.end_of_turn, special_.pad})
    most = std::max(most, id);
  rows_ = most + 1;
}

Tokenizer Tokenizer::bytes() {
  std::string all(256, '\0');
  std::vector<StringRef> tokens;
  for (size_t byte = 0; byte < 256; ++byte) {
    all[byte] = char(byte);
    tokens.emplace_back(all.data() + byte, 1);
  }
  return Tokenizer("the built-in tokenizer of bytes", cantFail(Vocabulary::make(tokens), "all bytes are there"),
                   SpecialTokens::llama3(256));
}

Expected<Tokenizer> Tokenizer::open(const std::string& path) {
  if (llvm::sys::fs::is_directory(path)) {
    for (const char* name : {"tokenizer.json", "tokenizer.model", "original/tokenizer.model"}) {
      llvm::SmallString<256> file(path);
      llvm::sys::path::append(file, name);
      if (llvm::sys::fs::is_regular_file(file)) return open(file.str().str());
    }
    return failure(
        "{}: the folder has no tokenizer.json, tokenizer.model or original/tokenizer.model; name the file "
        "with tokenizer = file(…)",
        path);
  }
  auto buffer = TRY(
      files::mapText(path, kLargestFile,
                     "a tokenizer is Llama 3's tokenizer.model or tokenizer.json, as they lie in the model's folder"));
  const StringRef bytes = buffer->getBuffer();
  return bytes.ltrim().starts_with("{") ? fromJson(bytes, path) : fromTiktoken(bytes, path);
}

Error Tokenizer::encodeCut(StringRef text, std::vector<Token>& out) const {
  return splitter_.split(text, [&](StringRef piece) {
    if (whole_pieces_) {
      // tiktoken looks whole pieces up before it merges. Most words of English are tokens, so this is also the fast
      // path.
      const Token whole = vocabulary_.find(piece);
      if (whole >= 0) {
        out.push_back(whole);
        return;
      }
    }
    mergePiece(vocabulary_, pairs_.get(), piece, out);
  });
}

Error Tokenizer::encode(StringRef text, std::vector<Token>& out) const {
  std::string repaired;
  if (!json::isUTF8(text)) {
    repaired = json::fixUTF8(text);
    text = repaired;
  }
  return eachCut(text, [&](StringRef part) { return encodeCut(part, out); });
}

Expected<std::string> Tokenizer::decode(ArrayRef<Token> tokens) const {
  std::string text;
  for (const Token token : tokens) {
    const StringRef bytes = token >= 0 && token < vocabulary_.size() ? vocabulary_.text(token) : "";
    if (!bytes.empty()) {
      text += bytes;
      continue;
    }
    const auto* name = entryOf(special_names_, token);
    if (!name) return failure("{}: no token {}", origin_, token);
    text += special_.all[*name].first;
  }
  return text;
}

}  // namespace expc::text
