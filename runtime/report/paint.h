#pragma once

// Colours of the terminal, and the words of runtime/base with which every part of a report is written.

#include <string>
#include <string_view>

#include "runtime/base/numbers.h"
#include "runtime/base/printable.h"
#include "runtime/base/text.h"

namespace expc::report {

using base::Bounds, base::EstimateText, base::formatAgainst, base::formatConfidence, base::formatEstimate,
    base::formatInterval, base::formatParts, base::formatQuantity, base::framed;
using base::counted, base::displayWidth, base::elided, base::InOrder, base::joined, base::listed, base::printable,
    base::shellWord, base::textsOf, base::wrapped;

/// Escapes for the terminal; plain text without colour.
class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  std::string plain(std::string_view text) const { return std::string(text); }
  std::string bold(std::string_view text) const { return paint("1", text); }
  std::string faint(std::string_view text) const { return paint("2", text); }
  std::string green(std::string_view text) const { return paint("1;32", text); }
  std::string red(std::string_view text) const { return paint("1;31", text); }
  std::string yellow(std::string_view text) const { return paint("1;33", text); }
  using Brush = std::string (Paint::*)(std::string_view) const;
  /// Returns the brush for a verdict's style (judge/meaning.h); "" is plain.
  static Brush of(std::string_view style);

 private:
  std::string paint(std::string_view code, std::string_view text) const;
  bool on_;
};

}  // namespace expc::report
