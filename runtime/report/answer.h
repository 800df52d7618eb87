#pragma once

// The answer that a study's results give, in one to three sentences: what readers see first in terminal, page, Markdown
// and JSON. Criteria come in as they are judged; answer.cpp has a sentence for each form of claim, with words for each
// outcome. Reasons and conditions are left to verdict_text.h.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/describe/description.h"
#include "runtime/report/document.h"
#include "runtime/report/verdict_text.h"

namespace expc::report {

/// The answer of a whole study.
struct Answer {
  /// The class of its first word: that of the verdicts which decide it (judge::Meaning::style).
  std::string_view style;
  /// "Yes", "No", "Undecided", "Does not run", "Not run yet", "Not judged"; "" for a study without criteria.
  std::string word;
  /// Result, strongest evidence, and the condition that matters most. The first one follows the word.
  std::vector<std::string> sentences;
  /// Whether the condition is sessionsNotice(), which then need not be said again.
  bool says_sessions = false;
  /// Whether it says how little few trials show.
  bool says_few = false;

  /// Returns all of it as one text: "Yes: fp32 is at least 1.2 times as fast as fp64. Lowest …".
  std::string text() const;
  /// Returns it as a paragraph.
  Paragraph block() const;
  /// Returns it as markup of the page.
  std::string markup() const;
};

/// Returns the answer to the claims of a study; to a study without claims the best point of its first metric. With
/// `brief` it leaves out numbers that a table below it has.
Answer answerOf(const Findings& findings, bool brief = false);

/// Returns the answer to one claim, without the conditions of the study: "No: slower is 1.03 times as fast as old
/// (claimed: at least 1.2). 95 % interval 1.01x to 1.05x, 10 pairs."
std::string answerText(const Findings& findings, const Judged& of);

}  // namespace expc::report
