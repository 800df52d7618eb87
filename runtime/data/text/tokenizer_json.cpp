// Reads Hugging Face's tokenizer.json. The format describes many kinds of tokenizers; this reads byte-level BPE as
// Llama 3 has it, and refuses by name every option that would change the tokens and is not implemented. A file that is
// accepted gives the ids that the tokenizers library gives.
//
// Its vocabulary is written in printable characters, one for each byte (GPT-2's table), which are mapped back to bytes
// here.

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/JSON.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/data/text/characters.h"
#include "runtime/data/text/tokenizer.h"

namespace expc::text {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr size_t kCharacters = 256 + 68;  // 68 of the 256 bytes are not printable

/// GPT-2's bytes_to_unicode, inverted: the byte of each character, or -1. Printable bytes of Latin-1 stand for
/// themselves; the others are the characters from 256 on, in order.
constexpr std::array<int16_t, kCharacters> characterTable() {
  std::array<int16_t, kCharacters> table{};
  for (auto& entry : table) entry = -1;
  size_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    table[printable ? size_t(byte) : next++] = int16_t(byte);
  }
  return table;
}

/// The bytes that a text of these characters stands for ("Ġthe" is " the"); nothing if another character is among them.
/// `text` must be valid UTF-8.
std::optional<std::string> bytesOfCharacters(StringRef text) {
  static constexpr auto table = characterTable();
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    const Character character = characterAt(text.data() + at);
    if (character.code_point >= table.size() || table[character.code_point] < 0) return std::nullopt;
    bytes += char(table[character.code_point]);
    at += character.bytes;
  }
  return bytes;
}

/// Whether a member is absent or has no effect: null, false or "".
bool unset(const Object& object, StringRef key) {
  const Value* value = object.get(key);
  if (!value || value->getAsNull()) return true;
  if (const auto flag = value->getAsBoolean()) return !*flag;
  const auto text = value->getAsString();
  return text && text->empty();
}

std::string typeOf(const Object& object) { return object.getString("type").value_or("").take_front(40).str(); }

/// Reads an id; `what` names its owner in messages.
Expected<Token> idOf(const Value& value, StringRef what) {
  const auto id = value.getAsInteger();
  if (!id || *id < 0 || *id >= int64_t(kMostTokens))
    return failure("{} has no id between 0 and {}", what.take_front(40), kMostTokens - 1);
  return Token(*id);
}

using Added = std::vector<std::pair<std::string, Token>>;

/// Reads added_tokens, all of which must be special.
Expected<Added> readAdded(const Object& root) {
  Added added;
  const Value* value = root.get("added_tokens");
  if (!value || value->getAsNull()) return added;
  const Array* array = value->getAsArray();
  if (!array) return failure("added_tokens is not an array");
  std::vector<Token> ids;
  for (size_t i = 0; i < array->size(); ++i) {
    const Object* token = (*array)[i].getAsObject();
    const auto content = token ? token->getString("content") : std::nullopt;
    const Value* number = token ? token->get("id") : nullptr;
    if (!content || content->empty() || !number) return failure("added_tokens[{}] has no content or no id", i);
    auto id = TRY(idOf(*number, fmt::format("added_tokens[{}]", i)));
    // Tokens that are not special are matched in text before splitting, which is not implemented.
    if (!token->getBoolean("special").value_or(false))
      return failure(
          "the added token '{}' is not special: text that has it would be split there, which is not supported",
          content->take_front(40));
    added.emplace_back(content->str(), id);
    ids.push_back(id);
  }
  std::ranges::sort(ids);
  if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end())
    return failure("two added tokens have the id {}", *twice);
  return added;
}

/// Reads model.vocab: the bytes of each token, by id; "" for ids that are not used.
Expected<std::vector<std::string>> readVocabulary(const Object& model, const Added& added) {
  const Object* entries = model.getObject("vocab");
  if (!entries) return failure("model.vocab is not an object");
  if (entries->size() > kMostTokens)
    return failure("model.vocab has {} tokens, at most {} are allowed", entries->size(), kMostTokens);
  std::vector<std::string> texts;
  for (const auto& [key, value] : *entries) {
    const StringRef characters = key;
    // Some files list special tokens here too.
    if (llvm::any_of(added, [&](const auto& token) { return token.first == characters; })) continue;
    auto id = TRY(idOf(value, characters));
    const auto at = size_t(id);
    // Ids that are far apart occur only in a file that is no vocabulary; no memory is taken for them.
    if (at > entries->size() * 2 + 1024)
      return failure("model.vocab has the id {} among {} tokens", at, entries->size());
    const auto bytes = bytesOfCharacters(characters);
    if (!bytes || bytes->empty())
      return failure("model.vocab has '{}', which is not a text of ByteLevel's characters", characters.take_front(40));
    if (at >= texts.size()) texts.resize(at + 1);
    if (!texts[at].empty()) return failure("two tokens of model.vocab have the id {}", at);
    texts[at] = *bytes;
  }
  return texts;
}

/// The two sides of a merge, written as ["a", "b"] or "a b".
std::optional<std::pair<StringRef, StringRef>> sidesOf(const Value& value) {
  if (const auto text = value.getAsString()) {
    if (text->count(' ') != 1) return std::nullopt;
    return text->split(' ');
  }
  const Array* pair = value.getAsArray();
  if (!pair || pair->size() != 2) return std::nullopt;
  const auto left = (*pair)[0].getAsString(), right = (*pair)[1].getAsString();
  if (!left || !right) return std::nullopt;
  return std::pair(*left, *right);
}

/// Reads model.merges: pairs of ids in the order of merging. Each pair and its result must be tokens.
Expected<std::unique_ptr<PairMerges>> readMerges(const Object& model, const Vocabulary& vocabulary) {
  const Array* array = model.getArray("merges");
  if (!array) return failure("model.merges is not an array");
  if (array->size() > kMostTokens * 4) return failure("model.merges has {} entries", array->size());
  auto merges = std::make_unique<PairMerges>();
  merges->reserve(unsigned(array->size()));
  for (size_t i = 0; i < array->size(); ++i) {
    const auto sides = sidesOf((*array)[i]);
    if (!sides) return failure("model.merges[{}] is not a pair of tokens", i);
    const auto left = bytesOfCharacters(sides->first), right = bytesOfCharacters(sides->second);
    const Token left_id = left ? vocabulary.find(*left) : -1, right_id = right ? vocabulary.find(*right) : -1;
    // Ids are looked up once here, so that merging compares numbers instead of texts.
    const Token both = left && right ? vocabulary.find(*left + *right) : -1;
    if (left_id < 0 || right_id < 0 || both < 0)
      return failure("model.merges[{}] ('{}' and '{}') joins tokens that are not in model.vocab", i,
                     sides->first.take_front(40), sides->second.take_front(40));
    // The first of equal pairs counts.
    merges->try_emplace(pairKey(left_id, right_id), Joined{uint32_t(i), both});
  }
  return merges;
}

/// Refuses models and options that give other tokens.
Error checkModel(const Object& model) {
  if (const std::string type = typeOf(model); !type.empty() && type != "BPE")
    return failure("its model is {}; only BPE is supported", type);
  if (const Value* dropout = model.get("dropout"); dropout && dropout->getAsNumber().value_or(0) != 0)
    return failure("model.dropout is not supported");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"})
    if (!unset(model, key)) return failure("model.{} is not supported; Llama 3's tokenizer leaves it unset", key);
  return Error::success();
}

/// The regular expression of a pre-tokenizer, which must be ByteLevel, alone or behind one Split.
Expected<std::string> readPattern(const Object& root) {
  const Object* top = root.getObject("pre_tokenizer");
  if (!top) return failure("it has no pre_tokenizer; ByteLevel is needed");
  llvm::SmallVector<const Object*, 4> steps;
  if (typeOf(*top) == "Sequence") {
    const Array* array = top->getArray("pretokenizers");
    if (!array) return failure("pre_tokenizer.pretokenizers is not an array");
    for (const Value& step : *array) {
      if (!step.getAsObject()) return failure("a step of pre_tokenizer is not an object");
      steps.push_back(step.getAsObject());
    }
  } else {
    steps.push_back(top);
  }
  // Two forms occur: GPT-2's, in which ByteLevel has the pattern, and Llama 3's, in which a Split has it.
  if (steps.empty() || steps.size() > 2 || typeOf(*steps.back()) != "ByteLevel" ||
      (steps.size() == 2 && typeOf(*steps[0]) != "Split"))
    return failure("its pre_tokenizer is not supported; only ByteLevel is, alone or after one Split");
  const Object& level = *steps.back();
  // Missing members have the library's defaults, which are true for both.
  if (level.getBoolean("add_prefix_space").value_or(true))
    return failure("ByteLevel with add_prefix_space is not supported");
  const bool own_pattern = level.getBoolean("use_regex").value_or(true);
  if (steps.size() == 1 && own_pattern) return kGpt2Pattern.str();
  if (steps.size() == 1) return failure("ByteLevel without a pattern is not supported");
  if (own_pattern) return failure("ByteLevel with use_regex after a Split is not supported");
  const Object& split = *steps[0];
  const Object* pattern = split.getObject("pattern");
  const auto regex = pattern ? pattern->getString("Regex") : std::nullopt;
  if (!regex) return failure("the Split of pre_tokenizer has no regular expression");
  if (split.getString("behavior") != StringRef("Isolated") || !unset(split, "invert"))
    return failure("a Split is supported with behavior Isolated and without invert only");
  return regex->str();
}

}  // namespace

Expected<Tokenizer> Tokenizer::parse(StringRef bytes, const std::string& name) {
  auto json = parseJson(bytes);
  if (!json)
    return failure(
        "neither Hugging Face's tokenizer.json ({}) nor tiktoken's form, a token in base64 and its rank on each line",
        json.takeError());
  const Object* object = json->getAsObject();
  if (!object) return failure("expected an object, as in Hugging Face's tokenizer.json");
  const Object& root = *object;
  if (!unset(root, "normalizer"))
    return failure("it has a normalizer, which is not supported; Llama 3's tokenizer has none");
  const Object* model = root.getObject("model");
  if (!model) return failure("it has no model");
  TRY(checkModel(*model));
  if (const Object* decoder = root.getObject("decoder"); decoder && typeOf(*decoder) != "ByteLevel")
    return failure("its decoder is {}; only ByteLevel is supported", typeOf(*decoder));
  // Cheap checks come first: the vocabulary of a file that is refused is never read.
  auto pattern = TRY(readPattern(root));
  auto splitter = TRY(Splitter::compile(pattern));
  auto added = TRY(readAdded(root));
  auto texts = TRY(readVocabulary(*model, added));
  for (const auto& [token, id] : added)
    if (size_t(id) < texts.size() && !texts[id].empty())
      return failure("the added token '{}' has the id {} of another token", StringRef(token).take_front(40), id);
  auto vocabulary = TRY(Vocabulary::make(std::vector<StringRef>(texts.begin(), texts.end())));
  auto merges = TRY(readMerges(*model, vocabulary));
  auto special = TRY(SpecialTokens::named(std::move(added)));
  Tokenizer result(name, std::move(vocabulary), std::move(special));
  result.splitter_ = std::move(splitter);
  result.pairs_ = std::move(merges);
  result.whole_pieces_ = model->getBoolean("ignore_merges").value_or(false);
  // Here special tokens have rows wherever they are: the model's embedding was made for this file.
  for (const auto& token : result.special_.all) result.rows_ = std::max(result.rows_, token.second + 1);
  return result;
}

Expected<Tokenizer> Tokenizer::fromJson(StringRef bytes, const std::string& name) {
  return prefixed(name, parse(bytes, name));
}

}  // namespace expc::text
