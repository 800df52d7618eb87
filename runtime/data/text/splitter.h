#pragma once

// Cuts a text into the pieces within which byte pairs are merged. Which pieces a tokenizer makes decides its tokens, so
// the results equal those of tiktoken and of Hugging Face's tokenizers. Llama 3's pattern is matched by hand, which is
// many times faster than a regular expression; any other pattern runs in PCRE2.

#include <memory>

#include "runtime/base/llvm.h"

namespace expc::text {

/// Llama 3's pattern, in the syntax that PCRE2, tiktoken and Hugging Face share.
extern const llvm::StringLiteral kLlama3Pattern;
/// GPT-2's pattern, which a tokenizer.json means by a ByteLevel step with use_regex.
extern const llvm::StringLiteral kGpt2Pattern;

/// Receives the pieces in order; they point into the text.
using PieceSink = function_ref<void(StringRef)>;

/// Cuts `text` by Llama 3's pattern without a regular expression, in tiktoken's version of Unicode. `text` must be
/// valid UTF-8.
void splitAsLlama3(StringRef text, PieceSink piece);

/// Splits by a pattern: Llama 3's by splitAsLlama3(), any other by PCRE2, compiled just in time where the machine
/// allows. `\s` is Unicode's White_Space, as in tiktoken and Hugging Face's tokenizers. Several threads may use one.
class Splitter {
 public:
  /// Splits by Llama 3's pattern.
  Splitter() = default;
  /// Splits by `pattern`. An error if it is wrong, or uses what PCRE2 understands differently from the tokenizers'
  /// engines (\w, \b, …).
  static Expected<Splitter> compile(StringRef pattern);
  /// Splits by PCRE2 even for Llama 3's pattern; a test holds the two implementations together with this.
  static Expected<Splitter> byPcre2(StringRef pattern);

  /// Calls `piece` for each match and for each text between matches, in order (the behaviour `Isolated` of Hugging
  /// Face). `text` must be valid UTF-8. An error if the pattern backtracks too much.
  Error split(StringRef text, PieceSink piece) const;

 private:
  struct Pattern;
  std::shared_ptr<const Pattern> pattern_;  // null: Llama 3's
};

}  // namespace expc::text
