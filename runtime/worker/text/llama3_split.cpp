#include "runtime/worker/text/characters.h"
#include "runtime/worker/text/splitter.h"

namespace expc::text {
namespace {

using enum CharacterClass;

bool isNewline(uint32_t code_point) { return code_point == '\n' || code_point == '\r'; }

/// Reads characters ahead of a place that moves with the pieces.
class Characters {
 public:
  explicit Characters(llvm::StringRef text) : at_(text.begin()), end_(text.end()) {}

  bool done() const { return at_ == end_; }
  const char* at() const { return at_; }
  Character character(const char* at) const { return characterAt(at); }
  CharacterClass kind(const Character& character) const { return classes_[character.code_point]; }

  /// Past all characters of a class from `at` on.
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
  bool is(const char* at, CharacterClass wanted) const { return at != end_ && kind(characterAt(at)) == wanted; }
  /// The piece from the place to `end`; the place moves there.
  llvm::StringRef take(const char* end) {
    const llvm::StringRef piece(at_, static_cast<size_t>(end - at_));
    at_ = end;
    return piece;
  }
  const char* end() const { return end_; }

 private:
  const char* at_;
  const char* end_;
  const CharacterClass* classes_ = characterClasses();
};

/// The end of 's 't 're 've 'm 'll 'd in either case (with the long s, which folds to s) whose apostrophe is at `at`;
/// null if none.
const char* contraction(const char* at, const char* end) {
  const auto left = end - at;
  if (left < 2) return nullptr;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const char first = lower(at[1]);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if (left < 3) return nullptr;
  const char second = lower(at[2]);
  if ((first == 'r' || first == 'v') && second == 'e') return at + 3;
  if (first == 'l' && second == 'l') return at + 3;
  return at[1] == '\xc5' && at[2] == '\xbf' ? at + 3 : nullptr;
}

/// \p{N}{1,3}
const char* number(const Characters& reader, const char* at) {
  for (int count = 0; count < 3 && reader.is(at, Number); ++count) at += reader.character(at).bytes;
  return at;
}

/// \s*[\r\n]+|\s+(?!\S)|\s+ where `at` is white space: up to the last line break of the run, else all of it at the
/// text's end, else all but the last character.
const char* space(const Characters& reader, const char* at) {
  const char* end = at;
  const char* last = at;          // the beginning of the run's last character
  const char* newline = nullptr;  // past the run's last line break
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

/// The end of the piece at the reader's place: the pattern's alternatives, in its order.
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

void splitAsLlama3(llvm::StringRef text, PieceSink piece) {
  Characters reader(text);
  while (!reader.done()) piece(reader.take(pieceEnd(reader)));
}

}  // namespace expc::text
