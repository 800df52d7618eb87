// Slips with one reading, which `expc check --fix` and editors mend: a sign of another language between a head and what
// follows it, a word that another statement has in this place, levels without braces.

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cctype>

#include "compiler/parse/syntax_errors.h"
#include "runtime/base/format.h"

namespace expc::parse {

namespace {

/// Whether the token found follows the name of a factor, whose levels may be left out: the parser reads `factor n`
/// alone and takes the next sign for a new statement.
bool followsFactorName(std::string_view file, const Situation& situation) {
  if (situation.rules.front() != Rule::StudyBody) return false;
  // A name alone, wherever on its line the statement begins; else the names of a lockstep factor.
  if (situation.earlier.token == Token::Factor) return true;
  const std::string_view head = headOfLine(file, situation);
  if (head != "factor") return false;
  const size_t begin = head.data() - file.data();
  return file.substr(begin, situation.found.begin - begin).find(" in ") == std::string_view::npos;
}

/// Whether the token before is a word whose value follows without a sign.
bool takesValue(const Situation& situation) {
  constexpr Token kSettings[] = {Token::Baseline, Token::Confidence, Token::Measure,
                                 Token::Table,    Token::Timeout,    Token::Version};
  const Rule inner = situation.rules.front();
  return is_contained(kSettings, situation.previous.token) || inner == Rule::DesignItem || inner == Rule::Setting ||
         inner == Rule::SettingValue;
}

/// `=` or `:` where the statement has the other one, `in`, or nothing: values follow `=`, sentences `:`, settings
/// nothing.
std::optional<Slip> signBetween(std::string_view file, const Situation& situation) {
  const Located& found = situation.found;
  const auto replacedBy = [&](std::string word) { return Slip{found.begin, found.end, std::move(word)}; };
  const bool factor = followsFactorName(file, situation);
  if (factor && found.token == Token::LeftBrace) return Slip{found.begin, found.begin, "in ", "; levels follow 'in'"};
  if (factor && found.token == Token::LeftBracket) {
    const std::string_view rest = file.substr(found.end);
    const size_t end = rest.find_first_of("[]{}\n");
    if (end != std::string_view::npos && rest[end] == ']')
      return Slip{found.begin, uint32_t(found.end + end + 1),
                  fmt::format("in {{ {} }}", StringRef(rest.substr(0, end)).trim().str()),
                  "; levels follow 'in', in braces"};
  }
  const bool assign = found.token == Token::Assign;
  if ((!assign && found.token != Token::Colon) || file.substr(found.end).starts_with("=")) return std::nullopt;
  const Rule inner = situation.rules.front();
  // `factor m: { … }`: a word needs the blank that a sign does not.
  const std::string in = found.begin == situation.previous.end ? " in" : "in";
  if (factor) return Slip{found.begin, found.end, in, "; levels follow 'in'"};
  if (situation.expects(Token::In) && inner == Rule::OnlyClause) return replacedBy(in);
  if (!assign && situation.expects(Token::Assign) && inner != Rule::Argument) return replacedBy("=");
  if (assign && situation.expects(Token::Colon) && inner == Rule::CriterionDecl) return replacedBy(":");
  if (!assign || !takesValue(situation)) return std::nullopt;
  const uint32_t next = uint32_t(std::min(file.find_first_not_of(" \t", found.end), file.size()));
  return Slip{found.begin, next, ""};
}

/// The text from a place to the end of its line, without a comment and blanks at the end.
std::string_view restOfLine(std::string_view file, uint32_t begin) {
  std::string_view rest = file.substr(begin);
  rest = rest.substr(0, rest.find('\n'));
  return StringRef(rest.substr(0, rest.find("//"))).rtrim();
}

/// `factor way in a, b`: braces around the levels, if nothing but levels is left of the line.
std::optional<Slip> levelsWithoutBraces(std::string_view file, const Situation& situation) {
  if (situation.found.token != Token::Comma || situation.earlier.token != Token::In) return std::nullopt;
  std::string_view levels = restOfLine(file, situation.previous.begin);
  for (const std::string_view clause : {" baseline ", " when "})
    levels = StringRef(levels.substr(0, levels.find(clause))).rtrim();
  const std::string meant = "; put several levels in braces";
  const bool plain = llvm::all_of(
      levels, [](unsigned char c) { return std::isalnum(c) != 0 || c == ',' || c == '.' || c == ' ' || c == '_'; });
  if (!plain) return std::nullopt;
  return Slip{situation.previous.begin, uint32_t(situation.previous.begin + levels.size()),
              fmt::format("{{ {} }}", levels), meant};
}

/// `require n <= 2 when way == b`: rules have one condition.
std::optional<Slip> ruleWithWhen(std::string_view file, const Situation& situation) {
  const std::string_view head = headOfLine(file, situation);
  if (situation.found.token != Token::When || (head != "require" && head != "exclude")) return std::nullopt;
  const StringRef line = file.substr(size_t(head.data() - file.data()) + head.size());
  const size_t begin = line.data() - file.data();
  const StringRef before = line.take_front(situation.found.begin - begin);
  const StringRef asked = before.drop_front(before.contains(':') ? before.find(':') + 1 : 0).trim();
  const StringRef when = StringRef(restOfLine(file, situation.found.end)).split(" because ").first.trim();
  // A reason in front of the condition, or no condition: there is no one reading.
  if (asked.empty() || when.empty() || asked.contains(" because ")) return std::nullopt;
  const auto grouped = [](StringRef part) {
    return part.contains(" or ") ? fmt::format("({})", part.str()) : part.str();
  };
  std::string written = head == "require" ? fmt::format("not ({}) or {}", when.str(), asked.str())
                                          : fmt::format("{} and {}", grouped(asked), grouped(when));
  const auto at = [&](const char* place) { return uint32_t(place - file.data()); };
  std::string meant = fmt::format("; write '{} {}'", head, written);
  return Slip{at(asked.begin()), at(when.end()), std::move(written), std::move(meant)};
}

}  // namespace

std::string_view headOfLine(std::string_view file, const Situation& situation) {
  const size_t line = file.substr(0, situation.found.begin).rfind('\n') + 1;
  const StringRef text = StringRef(file.substr(line)).ltrim(" \t{");
  return text.take_while([](unsigned char c) { return std::isalpha(c) != 0; });
}

std::optional<Slip> slipOf(std::string_view file, const Situation& situation) {
  const Located &found = situation.found, &previous = situation.previous;
  const auto textOf = [&](const Located& token) { return file.substr(token.begin, token.end - token.begin); };
  if (auto slip = signBetween(file, situation)) return slip;
  if (auto slip = levelsWithoutBraces(file, situation)) return slip;
  if (auto slip = ruleWithWhen(file, situation)) return slip;
  const std::string_view head = headOfLine(file, situation);
  if (found.token == Token::Where && (head == "factor" || head == "param"))
    return Slip{found.begin, found.end, "when", "; a condition follows 'when'"};
  if (situation.expects(Token::Confidence) && previous.token == Token::With)
    if (const std::string_view rest = restOfLine(file, found.begin); rest.ends_with("% confidence"))
      return Slip{found.begin, uint32_t(found.begin + rest.size()),
                  fmt::format("confidence {}", rest.substr(0, rest.rfind(' ')))};
  if (!situation.within(Rule::Claim)) return std::nullopt;
  if (textOf(previous) == "for" && textOf(found) == "all") return Slip{previous.begin, found.end, "forall"};
  const bool band = restOfLine(file, found.end).find("..") != std::string_view::npos;
  if (found.token == Token::In && band) return Slip{found.begin, found.end, "within"};
  return std::nullopt;
}

}  // namespace expc::parse
