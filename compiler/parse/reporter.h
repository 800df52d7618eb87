#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/diag/diagnostic.h"
#include "compiler/source/source.h"

namespace expc::parse {

/// Thrown through the generated parser when enough was reported; caught in the
/// bridge.
struct TooManyErrorsReached {};

/// `text` in quotes, on one line and not too long.
std::string quote(std::string_view text);

/// Hands parse errors on, up to a limit: what comes after many errors mostly
/// follows from them.
class Reporter {
 public:
  static constexpr size_t kLimit = 20;

  Reporter(const source::SourceManager& sources, diag::Emitter& emitter, source::FileId file, size_t limit = kLimit)
      : sources_(sources), emitter_(emitter), file_(file), limit_(limit) {}

  /// Null once the limit is reached (which it reports, once).
  diag::Emitter* next(uint32_t at);
  /// "expected …, found …" at `range`; nothing once the limit is reached.
  std::optional<diag::Builder> unexpected(source::Range range, const std::string& expected, const std::string& found);
  /// The same with what stands at `range`, which `meant` may replace.
  void syntaxError(source::Range range, const std::string& expected,
                   const std::optional<std::string>& meant = std::nullopt);
  bool exhausted() const { return count_ > limit_; }
  source::FileId file() const { return file_; }

 private:
  const source::SourceManager& sources_;
  diag::Emitter& emitter_;
  source::FileId file_;
  size_t limit_;
  size_t count_ = 0;
};

}  // namespace expc::parse
