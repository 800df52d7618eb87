// Two implementations of splitting. The general one compiles a tokenizer's pattern with PCRE2, after refusing escapes
// that regular expression engines disagree on. The special one follows the alternatives of Llama 3's pattern in their
// order, with a table of character classes; pieceEnd() is the pattern.
//
// Patterns come from downloaded files. Limits on steps, heap and pattern size keep one that backtracks without end from
// hanging a trial.

#define PCRE2_CODE_UNIT_WIDTH 8

#include "runtime/data/text/splitter.h"

#include <llvm/ADT/StringExtras.h>
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/data/text/characters.h"

namespace expc::text {
namespace {

constexpr size_t kLongestPattern = 64 << 10;
// Steps of matching from one place of the text. A pattern that needs more backtracks without end.
constexpr uint32_t kMatchLimit = 1'000'000;
constexpr uint32_t kHeapLimitKiB = 64 << 10;
constexpr size_t kJitStackBytes = 32 << 10, kJitStackMost = 1 << 20;

/// PCRE2's message for an error code.
std::string wordsOf(int code) {
  unsigned char text[256];
  return pcre2_get_error_message(code, text, sizeof text) < 0 ? fmt::format("error {}", code)
                                                              : reinterpret_cast<const char*>(text);
}

/// Escapes that PCRE2, Oniguruma (Hugging Face) and Rust's regex (tiktoken) understand alike; \w, \b, \h and others
/// differ.
constexpr llvm::StringLiteral kKnownEscapes = "sSdDpPrntfx";

/// The pattern with \s written as Unicode's property, since PCRE2's \s has one character more (U+180E). An error for an
/// escape that engines understand differently.
Expected<std::string> translated(StringRef pattern) {
  std::string result;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern.substr(at).starts_with("[:"))
      return failure("the pattern '{}' has a named class ([:…:]), which is not supported", pattern);
    if (pattern[at] != '\\' || at + 1 == pattern.size()) {
      result += pattern[at];
      continue;
    }
    const char escaped = pattern[++at];
    if (llvm::isAlnum(escaped) && !kKnownEscapes.contains(escaped))
      return failure(
          "the pattern '{}' uses \\{}, which is not supported because regular expressions differ in its meaning",
          pattern, escaped);
    if (escaped == 's')
      result += "\\p{White_Space}";
    else if (escaped == 'S')
      result += "\\P{White_Space}";
    else
      (result += '\\') += escaped;
  }
  return result;
}

/// The memory with which one thread matches. One pair of offsets is enough: only the whole match is read, not the
/// pattern's groups.
struct Scratch {
  Scratch()
      : data(pcre2_match_data_create(1, nullptr)),
        context(pcre2_match_context_create(nullptr)),
        stack(pcre2_jit_stack_create(kJitStackBytes, kJitStackMost, nullptr)) {
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_depth_limit(context, kMatchLimit);
    pcre2_set_heap_limit(context, kHeapLimitKiB);
    if (stack) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Scratch() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
  pcre2_match_data* data;
  pcre2_match_context* context;
  pcre2_jit_stack* stack;
};

using enum CharacterClass;

bool isNewline(uint32_t code_point) { return code_point == '\n' || code_point == '\r'; }

/// Reads characters ahead of a place that moves from piece to piece.
class Characters {
 public:
  explicit Characters(StringRef text) : at_(text.begin()), end_(text.end()) {}

  bool done() const { return at_ == end_; }
  const char* at() const { return at_; }
  Character character(const char* at) const { return characterAt(at); }
  CharacterClass kind(const Character& character) const { return classes_[character.code_point]; }

  /// Behind all characters of a class from `at` on.
  const char* skip(const char* at, CharacterClass wanted) const {
    while (at != end_) {
      const Character next = characterAt(at);
      if (kind(next) != wanted) break;
      at += next.bytes;
    }
    return at;
  }
  const char* skipNewlines(const char* at) const {
    while (at != end_ && isNewline(static_cast<unsigned char>(*at))) ++at;
    return at;
  }
  /// Whether the character at `at` is of a class; false at the end of the text.
  bool is(const char* at, CharacterClass wanted) const { return at != end_ && kind(characterAt(at)) == wanted; }
  /// The piece from the place to `end`; the place moves there.
  StringRef take(const char* end) {
    const StringRef piece(at_, end - at_);
    at_ = end;
    return piece;
  }
  const char* end() const { return end_; }

 private:
  const char* at_;
  const char* end_;
  const CharacterClass* classes_ = characterClasses();
};

/// The end of a contraction ('s 't 're 've 'm 'll 'd in either case) whose apostrophe is at `at`; null if there is
/// none. The pattern ignores case, and the long s (U+017F) folds to s.
const char* contraction(const char* at, const char* end) {
  const auto left = end - at;
  if (left < 2) return nullptr;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; };
  const char first = lower(at[1]);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if (left < 3) return nullptr;
  const char second = lower(at[2]);
  if ((first == 'r' || first == 'v') && second == 'e') return at + 3;
  if (first == 'l' && second == 'l') return at + 3;
  return at[1] == '\xc5' && at[2] == '\xbf' ? at + 3 : nullptr;
}

/// \p{N}{1,3}: up to three digits.
const char* number(const Characters& reader, const char* at) {
  for (int count = 0; count < 3 && reader.is(at, Number); ++count) at += reader.character(at).bytes;
  return at;
}

/// \s*[\r\n]+|\s+(?!\S)|\s+ for a run of white space at `at`. It ends behind the run's last line break if there is one;
/// at the end of the text it is the whole run; otherwise it leaves the last character of the run to the piece behind,
/// unless that is all there is.
const char* space(const Characters& reader, const char* at) {
  const char* end = at;
  const char* last = at;          // the beginning of the run's last character
  const char* newline = nullptr;  // behind the run's last line break
  while (end != reader.end()) {
    const Character next = reader.character(end);
    if (reader.kind(next) != Space) break;
    last = end;
    end += next.bytes;
    if (isNewline(next.code_point)) newline = end;
  }
  if (newline) return newline;
  return end == reader.end() || last == at ? end : last;
}

/// The end of the piece at the reader's place. The order of the tests is that of the pattern's alternatives, except
/// that letters, the most frequent case, are tested first, where the result is the same.
const char* pieceEnd(const Characters& reader) {
  const char* at = reader.at();
  const Character first = reader.character(at);
  const char* next = at + first.bytes;
  const CharacterClass kind = reader.kind(first);
  if (kind == Letter) return reader.skip(next, Letter);
  if (first.code_point == '\'')
    if (const char* end = contraction(at, reader.end())) return end;
  if (kind != Number && !isNewline(first.code_point) && reader.is(next, Letter)) return reader.skip(next, Letter);
  if (kind == Number) return number(reader, at);
  if (kind == Other) return reader.skipNewlines(reader.skip(next, Other));
  if (first.code_point == ' ' && reader.is(next, Other)) return reader.skipNewlines(reader.skip(next, Other));
  return space(reader, at);
}

}  // namespace

const llvm::StringLiteral kLlama3Pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
    "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const llvm::StringLiteral kGpt2Pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

struct Splitter::Pattern {
  ~Pattern() { pcre2_code_free(code); }

  std::string text;
  pcre2_code* code = nullptr;
};

Expected<Splitter> Splitter::compile(StringRef pattern) {
  return pattern == kLlama3Pattern ? Splitter() : byPcre2(pattern);
}

Expected<Splitter> Splitter::byPcre2(StringRef pattern) {
  if (pattern.size() > kLongestPattern)
    return failure("a pattern of {} bytes, at most {} are allowed", pattern.size(), kLongestPattern);
  auto parts = std::make_shared<Pattern>();
  parts->text = pattern.str();
  auto text = TRY(translated(pattern));
  int error = 0;
  size_t offset = 0;
  // UTF and UCP: characters and properties are Unicode's. \C, which matches half characters, is refused.
  parts->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  if (!parts->code) return failure("the pattern '{}' is invalid: {}", parts->text, wordsOf(error));
  // The compiler fails on a system without executable memory; matching then interprets the pattern.
  (void)pcre2_jit_compile(parts->code, PCRE2_JIT_COMPLETE);
  Splitter splitter;
  splitter.pattern_ = std::move(parts);
  return splitter;
}

Error Splitter::split(StringRef text, PieceSink piece) const {
  if (!pattern_) {
    splitAsLlama3(text, piece);
    return Error::success();
  }
  thread_local Scratch scratch;
  size_t begin = 0;  // the first byte that no match has covered
  for (size_t at = 0; at < text.size();) {
    const int found = pcre2_match(pattern_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                                  PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK, scratch.data, scratch.context);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0)
      return failure("the pattern '{}' was given up on a text of {} bytes: {}", pattern_->text, text.size(),
                     wordsOf(found));
    const size_t* ends = pcre2_get_ovector_pointer(scratch.data);
    // \K in a lookaround can put the ends of a match in the wrong order.
    if (ends[0] < at || ends[1] <= ends[0]) return failure("the pattern '{}' matches backwards", pattern_->text);
    if (ends[0] > begin) piece(text.slice(begin, ends[0]));
    piece(text.slice(ends[0], ends[1]));
    at = begin = ends[1];
  }
  if (begin < text.size()) piece(text.substr(begin));
  return Error::success();
}

void splitAsLlama3(StringRef text, PieceSink piece) {
  Characters reader(text);
  while (!reader.done()) piece(reader.take(pieceEnd(reader)));
}

}  // namespace expc::text
