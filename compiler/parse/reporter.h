#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/diag/diagnostic.h"
#include "compiler/source/source.h"

namespace expc::parse {

/// Thrown through the generated parser when enough was reported; caught in the bridge.
struct TooManyErrorsReached {};

/// `text` in quotes, on one line and not too long.
std::string quote(std::string_view text);

/// Hands parse errors on, up to a limit: what comes after many errors mostly follows from them.
class Reporter {
 public:
  static constexpr size_t kLimit = 20;

  Reporter(const source::SourceManager& sources, diag::Emitter& emitter, source::FileId file, size_t limit = kLimit)
      : sources_(sources), emitter_(emitter), file_(file), limit_(limit) {}

  /// Begins an error; nothing once the limit is reached, which is said once.
  template <typename Definition, typename... Args>
  std::optional<diag::Builder> build(source::Range range, Definition definition, const Args&... args) {
    return counts(range.begin) ? std::optional(emitter_.build(range, definition, args...)) : std::nullopt;
  }
  template <typename Definition, typename... Args>
  void emit(source::Range range, Definition definition, const Args&... args) {
    if (auto error = build(range, definition, args...)) error->emit();
  }
  /// Begins "expected …, found …".
  std::optional<diag::Builder> unexpected(source::Range range, const std::string& expected, const std::string& found);
  /// The same with what stands at `range`.
  void syntaxError(source::Range range, const std::string& expected);
  bool exhausted() const { return count_ > limit_; }
  source::FileId file() const { return file_; }
  std::string_view text() const { return sources_.text(file_); }
  std::string_view text(uint32_t begin, uint32_t end) const { return text().substr(begin, end - begin); }

 private:
  bool counts(uint32_t at);

  const source::SourceManager& sources_;
  diag::Emitter& emitter_;
  source::FileId file_;
  size_t limit_;
  size_t count_ = 0;
};

}  // namespace expc::parse
