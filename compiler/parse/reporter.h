#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "compiler/diag/diagnostic.h"
#include "compiler/source/source.h"

namespace expc::parse {

/// Thrown through the generated parser when enough was reported; caught in the
/// bridge.
struct TooManyErrorsReached {};

/// Hands parse errors on, up to a limit: what comes after many errors mostly
/// follows from them.
class Reporter {
 public:
  static constexpr size_t kLimit = 20;

  Reporter(diag::Emitter& emitter, source::FileId file, size_t limit = kLimit)
      : emitter_(emitter), file_(file), limit_(limit) {}

  /// Null once the limit is reached (which it reports, once).
  diag::Emitter* next(uint32_t at);
  /// "expected …, found …": something else has to stand at `range`.
  /// `meant` is a word that may replace what stands there.
  void syntaxError(source::Range range, std::string message, const std::optional<std::string>& meant = std::nullopt);
  bool exhausted() const { return count_ > limit_; }
  source::FileId file() const { return file_; }

 private:
  diag::Emitter& emitter_;
  source::FileId file_;
  size_t limit_;
  size_t count_ = 0;
};

}  // namespace expc::parse
