#pragma once

// Cuts a text into the pieces within which byte pairs are merged.

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>

#include <memory>

namespace expc::text {

/// The pattern of Llama 3, in the syntax of PCRE2, tiktoken and Hugging Face alike.
extern const llvm::StringLiteral kLlama3Pattern;
/// GPT-2's, which tokenizer.json means by a ByteLevel with use_regex.
extern const llvm::StringLiteral kGpt2Pattern;

using PieceSink = llvm::function_ref<void(llvm::StringRef)>;

/// The pieces of `text` by Llama 3's pattern, without a regular expression: what PCRE2 finds, in the Unicode version of
/// tiktoken.
void splitAsLlama3(llvm::StringRef text, PieceSink piece);

/// Splits by Llama 3's pattern with splitAsLlama3 and by any other with PCRE2, which compiles it just in time where the
/// machine allows. `\s` is Unicode's White_Space, as in tiktoken and Hugging Face's tokenizers. Several threads may use
/// one.
class Splitter {
 public:
  /// Llama 3's.
  Splitter() = default;
  /// Errors: the pattern is wrong, or has what PCRE2 takes otherwise than the engines of tokenizers do (\w, \b, …).
  static llvm::Expected<Splitter> compile(llvm::StringRef pattern);
  /// Llama 3's pattern is compiled as any other, too.
  static llvm::Expected<Splitter> byPcre2(llvm::StringRef pattern);

  /// Calls `piece` for each match and for what lies between matches (Hugging Face's `Isolated`), in order. `text` must
  /// be valid UTF-8. An error: the pattern tries too many ways to match.
  llvm::Error split(llvm::StringRef text, PieceSink piece) const;

 private:
  struct Pattern;
  std::shared_ptr<const Pattern> pattern_;  // null: Llama 3's
};

}  // namespace expc::text
