// Reads numbers out of text: patterns (PCRE2), columns of tables, lines, sizes. Most of the code is
// about patterns, whose risk is a wrong number and not a missing one. A group that takes "12" of
// "12.5" or of "1,200" must be an error, and a value that diverged to "nan" must be found although
// "([0-9.]+)" does not match it. Two patterns are derived from the user's for that: its words
// around "nan" or "inf", and its words around any word.

#include "runtime/worker/command/readers.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Regex.h>
#include <pcre2.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/base/files/csv.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"

namespace expc::command {
namespace {

/// Names the line below the first one that has the column, for a table below other lines. "": no line has it.
std::string tableBelow(StringRef text, const std::string& column) {
  constexpr size_t kMostLines = 1000;
  for (size_t line = 2; line <= kMostLines && text.contains('\n'); ++line) {
    text = text.split('\n').second;
    std::vector<std::string> cells;
    consumeError(files::CsvRows(text.split('\n').first, files::CsvRows::Blanks::Dropped).next(cells).takeError());
    if (std::ranges::count(cells, column) > 0)
      return fmt::format("; line {} has it: print the lines above to standard error, or the table to a file", line);
  }
  return "";
}

/// The place of a column among the names of a table; the error lists what there is.
Expected<size_t> placeOf(const std::string& column, const std::vector<std::string>& names, StringRef text) {
  const auto found = std::ranges::find(names, column);
  if (found == names.end())
    return failure("it has no column '{}'; its first row has {}{}", column,
                   base::firstOf(base::textsOf(names, [](const auto& name) { return excerpt(name, 40); }), 12),
                   tableBelow(text, column));
  if (std::find(std::next(found), names.end(), column) != names.end())
    return failure("it has two columns '{}'", column);
  return size_t(found - names.begin());
}

// Steps of the matcher from one place of the text; some tenths of a second. A pattern that needs
// more would backtrack without end. All places together are limited by the reader's deadline
// (trial.h).
constexpr uint32_t kMatchLimit = 5'000'000;
constexpr uint32_t kHeapLimitKiB = 64 << 10;

/// PCRE2's message for an error.
std::string wordsOf(int code) {
  unsigned char text[256];
  return pcre2_get_error_message(code, text, sizeof text) < 0 ? fmt::format("error {}", code)
                                                              : reinterpret_cast<const char*>(text);
}

/// A pattern for numbers as programs print them: with sign, exponent, separators of thousands,
/// decimal comma, as a clock, or hexadecimal. A mark that `pattern` itself uses, such as a comma,
/// separates numbers and is not part of one. In UTF-8, \xe2\x88\x92 is the minus sign;
/// \xe2\x80\x89, \xe2\x80\x99, \xe2\x80\xaf and \xc2\xa0 are thin space, apostrophe and two
/// no-break spaces, which separate thousands; [dD] is Fortran's exponent.
std::string numbersBeside(std::string pattern) {
  // Commas and colons of the pattern's own syntax are no text.
  const llvm::Regex own("\\{[0-9]*,[0-9]*\\}|\\(\\?[a-z-]*:");
  while (own.match(pattern)) pattern = own.sub("", pattern);
  const auto unless = [&](char mark, const char* more) { return pattern.find(mark) == std::string::npos ? more : ""; };
  const std::string more = fmt::format(R"((?:(?:[.{}{}{}]|\xe2\x80[\x89\x99\xaf]|\xc2\xa0)\d+{})*)", unless(',', ","),
                                       unless('\'', "'"), unless('_', "_"), unless(':', R"(|:[0-5]\d)"));
  return fmt::format(
      R"((?:(?<![\w.+-])(?:-|\xe2\x88\x92))?(?:0[xX]{0}+|(?:\d+{1}|(?<![\w.])\.\d+)(?:[eE][+-]?\d+|[dD][+-]\d+)?))",
      "[0-9a-fA-F]", more);
}

/// The position of the bracket that ends the class of characters beginning at `at`.
size_t endOfClass(StringRef pattern, size_t at) {
  at += pattern.substr(at + 1).starts_with("^") ? 2 : 1;
  for (bool first = true; at < pattern.size() && (first || pattern[at] != ']'); ++at, first = false) {
    if (pattern[at] == '\\') ++at;
    if (pattern.substr(at).starts_with("[:")) at = std::min(pattern.find(":]", at), pattern.size() - 2) + 1;
  }
  return at;
}

/// Whether a bracket opens a capturing group. @param inside the pattern behind the bracket
bool captures(StringRef inside) {
  if (inside.consume_front("?<")) return !inside.starts_with("=") && !inside.starts_with("!");
  return inside.starts_with("?P<") || inside.starts_with("?'") || !(inside.starts_with("?") || inside.starts_with("*"));
}

/// The pattern with `group` in place of its own group; "" if the pattern has no word (two letters
/// in a row) that tells where a number is expected, or cannot be taken apart.
std::string withGroup(StringRef pattern, StringRef group) {
  size_t open = StringRef::npos, close = open, letters = 0;
  unsigned depth = 0, own = 0;
  bool words = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    // Walk through the pattern's syntax: escapes, classes of characters and groups. Letters outside
    // the own group are its words; \Q…\E quotes text, which would need a parser of its own, so such
    // a pattern gets none.
    const bool within = open != StringRef::npos && close == StringRef::npos;
    const bool letter = !within && llvm::isAlpha(pattern[i]);
    letters = letter ? letters + 1 : 0;
    words |= letters >= 2;
    if (pattern[i] == '\\') {
      if (pattern.substr(i + 1).starts_with("Q")) return "";
      ++i;
    } else if (pattern[i] == '[') {
      i = endOfClass(pattern, i);
    } else if (pattern[i] == '(') {
      ++depth;
      if (open == StringRef::npos && captures(pattern.substr(i + 1))) open = i, own = depth;
    } else if (pattern[i] == ')' && depth-- == own && within) {
      close = i;
    }
  }
  if (close == StringRef::npos || !words) return "";
  return (pattern.take_front(open) + group + pattern.drop_front(close + 1)).str();
}

/// A group for values that are not finite, and one for any word.
constexpr llvm::StringLiteral kNotFinite = R"(((?i:(?<![\w.])[+-]?(?:nan|inf|infinity)(?!\w))))";
constexpr llvm::StringLiteral kAnyWord = R"((\S*))";

/// `text`, or a copy in `own` if it is not UTF-8: each invalid byte is then read as a character of
/// Latin-1, which is what programs mean by a lone `µ`.
StringRef asUtf8(StringRef text, std::string& own) {
  StringRef rest = text;
  for (size_t bad = 0; !json::isUTF8(rest, &bad); rest = rest.drop_front(bad + 1)) {
    const auto byte = static_cast<unsigned char>(rest[bad]);
    own += rest.take_front(bad);
    // The two bytes of UTF-8 for a character of Latin-1.
    own += char(0xc0 | byte >> 6);
    own += char(0x80 | (byte & 0x3f));
  }
  if (own.empty()) return text;
  own += rest;
  return own;
}

}  // namespace

char NoValue::ID = 0;

Error noValue(const std::string& message, bool none) {
  return none ? llvm::make_error<NoValue>(message) : failure("{}", message);
}

Error within(const std::string& where, Error error) {
  const bool none = error.isA<NoValue>();
  return noValue(where + toString(std::move(error)), none);
}

/// Whether a program writes this where it has no value: perf stat, nvidia-smi and loggers each have a word of their
/// own.
static bool isNoValue(StringRef text) {
  static constexpr llvm::StringLiteral kWords[] = {
      "", "-", "--", "?", "n/a", "na", "not available", "not counted", "not supported", "null", "none"};
  return std::ranges::any_of(kWords, [&](StringRef word) { return text.trim("<>[] \t\r").equals_insensitive(word); });
}

Expected<double> readNumber(StringRef text) {
  StringRef digits = text.trim();
  // from_chars takes no plus sign.
  digits.consume_front("+");
  double value = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
  if (digits.empty() || end != digits.end() || error == std::errc::invalid_argument)
    return noValue(fmt::format("'{}' is not a number", excerpt(text)), isNoValue(text));
  // A value beyond the range of a double is an error and not infinite: the program did not mean
  // "diverged".
  if (error == std::errc::result_out_of_range)
    return failure("'{}' is too large or too small for a number", excerpt(text));
  return value;
}

Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(const std::string& path, uint64_t most) {
  auto buffer = files::map(path, most);
  if (buffer) return buffer;
  // Each error of the system in words that fit behind "the metric loss, read from 'x': ".
  const std::error_code code = llvm::errorToErrorCode(buffer.takeError());
  if (code == std::errc::no_such_file_or_directory) return failure("the program did not write it");
  if (code == std::errc::invalid_argument) return failure("it is not a regular file");
  if (code == std::errc::file_too_large) return failure("it is too large: at most {} MiB are read", most >> 20);
  return failure("it cannot be read: {}", code.message());
}

std::optional<json::Object> lastObject(const std::string& path) {
  const auto file = expectedToOptional(readFile(path, kMostJson));
  if (!file) return std::nullopt;
  const StringRef text = (*file)->getBuffer().rtrim();
  auto value = expectedToOptional(parseJson(text.substr(text.rfind('\n') + 1)));
  json::Object* object = value ? value->getAsObject() : nullptr;
  return object ? std::optional(std::move(*object)) : std::nullopt;
}

Expected<Values> readLines(StringRef text, Which which) {
  StringRef last;
  Values values;
  for (const StringRef line : llvm::split(text, '\n')) {
    if (line.trim().empty()) continue;
    last = line;
    if (which == Which::Last) continue;
    auto value = TRY(readNumber(line));
    if (values.size() == kMostValues) return failure("it has more than a million numbers");
    values.push_back(value);
  }
  if (last.empty()) return noValue("nothing was written");
  if (which == Which::All) return values;
  auto value = readNumber(last);
  if (!value) return within("its last line: ", value.takeError());
  return Values{*value};
}

Expected<double> readSize(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto fail = [&] { return failure("it cannot be read: {}", error.message()); };
  if (!fs::exists(path, error)) return failure("the program did not write it");
  uint64_t bytes = 0;
  if (!fs::is_directory(path, error)) {
    bytes = fs::file_size(path, error);
    if (error) return fail();
    return double(bytes);
  }
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    if (it->is_regular_file(error) && !it->is_symlink(error)) bytes += it->file_size(error);
  if (error) return fail();
  return double(bytes);
}

Error compareFiles(const std::string& path, const std::string& wanted, uint64_t most) {
  auto found = TRY(readFile(path, most));
  auto other = TRY(prefixed("what it is compared with", readFile(wanted, most)));
  const StringRef left = found->getBuffer(), right = other->getBuffer();
  if (left == right) return Error::success();
  const auto at = std::mismatch(left.begin(), left.end(), right.begin(), right.end()).first;
  return failure("it differs from line {} on ({} bytes, {} wanted)", 1 + std::count(left.begin(), at, '\n'),
                 left.size(), right.size());
}

/// Cells that a column has in rows.
enum class Cells { Last, Filled, All };

/// The cells of a column, with their rows; those that are empty are left out unless all are wanted.
static Expected<std::vector<std::pair<size_t, std::string>>> cellsOf(StringRef text, const std::string& column,
                                                                     Cells wanted) {
  files::CsvRows rows(text, files::CsvRows::Blanks::Dropped);
  std::vector<std::string> names, cells;
  auto any = TRY(prefixed("row 1", rows.next(names)));
  if (!any) return failure("it is empty");
  auto place = TRY(placeOf(column, names, text));
  std::vector<std::pair<size_t, std::string>> found;
  for (size_t row = 2;; ++row) {
    auto more = rows.next(cells);
    if (!more) return failure("row {}: {}", row, more.takeError());
    if (!*more) break;
    // A table whose rows have changing lengths has been written by two programs, or is no table.
    if (cells.size() != names.size())
      return failure("row {} has {} cells, the first row has {}", row, cells.size(), names.size());
    // Loggers leave cells empty in rows that are about something else.
    if (wanted != Cells::All && StringRef(cells[place]).trim().empty()) continue;
    if (wanted == Cells::Last) found.clear();
    found.emplace_back(row, std::move(cells[place]));
    if (found.size() > kMostValues) return failure("the column '{}' has more than a million values", column);
  }
  return found;
}

Expected<uint64_t> countColumn(StringRef text, const std::string& column) {
  auto cells = TRY(cellsOf(text, column, Cells::Filled));
  return cells.size();
}

Expected<RowTexts> columnRows(StringRef text, const std::string& column) {
  auto cells = TRY(cellsOf(text, column, Cells::All));
  RowTexts rows;
  for (auto& [row, cell] : cells) {
    rows.emplace_back();
    if (const StringRef value = StringRef(cell).trim(); !value.empty()) rows.back().push_back(value.str());
  }
  return rows;
}

Expected<Values> readColumn(StringRef text, const std::string& column, Which which) {
  auto cells = TRY(cellsOf(text, column, which == Which::Last ? Cells::Last : Cells::Filled));
  if (cells.empty()) return noValue(fmt::format("the column '{}' has no value", column));
  Values values;
  for (const auto& [row, digits] : cells) {
    auto value = readNumber(digits);
    if (!value) return within(fmt::format("row {} of the column '{}': ", row, column), value.takeError());
    values.push_back(*value);
  }
  return values;
}

/// A match and the part that its group took; the group is without data if it took no part.
struct Taken {
  size_t begin = 0, end = 0;
  StringRef group;
};

/// A compiled pattern with PCRE2's working memory. One thread at a time.
struct Pattern::Parts {
  static Expected<std::unique_ptr<Parts>> make(const std::string& text, uint32_t characters);
  ~Parts() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
  Error complain(const std::string& what) const { return failure("the pattern '{}' {}", text, what); }
  Error nothing(const std::string& what) const { return noValue(fmt::format("the pattern '{}' {}", text, what)); }
  Error gaveUp(int code) const {
    if (code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_DEPTHLIMIT || code == PCRE2_ERROR_HEAPLIMIT)
      return complain("was given up: it tries too many ways to match, as nested repetitions such as (a+)+ do");
    return complain("failed: " + wordsOf(code));
  }
  /// Finds the first match at or after `at`; its groups are in `data`. `in` must be UTF-8 if the
  /// pattern is.
  int match(StringRef in, size_t at) const {
    // The text was made valid by asUtf8(), or the pattern works on bytes. Checking it again would
    // cost a pass over the text for each match.
    return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(in.data()), in.size(), at, PCRE2_NO_UTF_CHECK, data, context);
  }
  /// The positions of match and groups, in pairs.
  const size_t* ends() const { return pcre2_get_ovector_pointer(data); }
  /// Calls `take` for each match at or after `at` until it returns false. @returns PCRE2's code
  /// below 0 if the matcher gave up
  int forEach(StringRef in, size_t at, function_ref<bool(const Taken&)> take) const;
  std::string text;
  // Further patterns for one that finds a number: numbers as programs write them, its words around
  // a value that is not finite, and its words around any word. The latter two are null if the
  // pattern has no words.
  std::unique_ptr<Parts> numbers, not_finite, any_word;
  pcre2_code* code = nullptr;
  pcre2_match_data* data = nullptr;
  pcre2_match_context* context = nullptr;
};

Expected<std::unique_ptr<Pattern::Parts>> Pattern::Parts::make(const std::string& text, uint32_t characters) {
  auto parts = std::make_unique<Parts>();
  parts->text = text;
  int error = 0;
  size_t offset = 0;
  pcre2_compile_context* lines = pcre2_compile_context_create(nullptr);
  pcre2_set_newline(lines, PCRE2_NEWLINE_ANYCRLF);  // a progress display ends its lines with a carriage return
  parts->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                              PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | characters, &error, &offset, lines);
  pcre2_compile_context_free(lines);
  if (!parts->code) return failure("the pattern '{}' is invalid at character {}: {}", text, offset + 1, wordsOf(error));
  parts->data = pcre2_match_data_create_from_pattern(parts->code, nullptr);
  parts->context = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(parts->context, kMatchLimit);
  pcre2_set_depth_limit(parts->context, kMatchLimit);
  pcre2_set_heap_limit(parts->context, kHeapLimitKiB);
  return parts;
}

Expected<Pattern> Pattern::compile(const std::string& text, Use use) {
  auto parts = TRY(Parts::make(text, PCRE2_UTF));
  if (use == Use::Rows) parts->numbers = cantFail(Parts::make(numbersBeside(text), 0));
  if (use != Use::Number) return Pattern(std::move(parts));
  uint32_t groups = 0;
  pcre2_pattern_info(parts->code, PCRE2_INFO_CAPTURECOUNT, &groups);
  if (groups != 1)
    return failure("the pattern '{}' has {} groups; it needs one, around the number. Write other groups as (?:…)", text,
                   groups);
  // On bytes, because it looks at pieces of a text.
  parts->numbers = cantFail(Parts::make(numbersBeside(text), 0));
  for (const auto& [part, group] : {std::pair(&Parts::not_finite, kNotFinite), std::pair(&Parts::any_word, kAnyWord)})
    if (const std::string other = withGroup(text, group); !other.empty())
      (*parts).*part = expectedToOptional(Parts::make(other, PCRE2_UTF)).value_or(nullptr);
  return Pattern(std::move(parts));
}

Error Pattern::match(StringRef text) const {
  std::string own;
  const int groups = parts_->match(asUtf8(text, own), 0);
  if (groups == PCRE2_ERROR_NOMATCH) return parts_->complain("matches nothing");
  return groups < 0 ? parts_->gaveUp(groups) : Error::success();
}

Expected<uint64_t> Pattern::count(StringRef text) const {
  std::string own;
  uint64_t count = 0;
  const int code = parts_->forEach(asUtf8(text, own), 0, [&](const Taken&) { return ++count, true; });
  if (code < 0) return parts_->gaveUp(code);
  return count;
}

StringRef Pattern::wholeOf(StringRef text, StringRef part) const {
  // No number is longer.
  constexpr size_t kBeside = 64;
  const size_t begin = part.begin() - text.begin(), end = begin + part.size();
  const StringRef near = text.take_front(end + kBeside);
  const Parts& numbers = *parts_->numbers;
  // Find the numbers around the part. One that overlaps it and reaches beyond it is the number that
  // was cut.
  for (size_t at = begin - std::min(begin, kBeside); at < end && numbers.match(near, at) > 0; at = numbers.ends()[1]) {
    const auto [from, to] = std::pair(numbers.ends()[0], numbers.ends()[1]);
    if (from < end && to > begin && (from < begin || to > end)) return text.slice(from, to);
  }
  return "";
}

int Pattern::Parts::forEach(StringRef in, size_t at, function_ref<bool(const Taken&)> take) const {
  while (at <= in.size()) {
    const int groups = match(in, at);
    if (groups == PCRE2_ERROR_NOMATCH) break;
    if (groups < 0) return groups;
    const size_t begin = ends()[0], end = ends()[1];
    const bool part = groups > 1 && ends()[2] != PCRE2_UNSET;
    if (!take({begin, end, part ? in.slice(ends()[2], ends()[3]) : StringRef()})) break;
    const bool empty = end <= at || end == begin;
    at = std::max(end, at) + (empty ? 1 : 0);  // past an empty match, to the next character
    // In UTF-8 a character may have several bytes; stop at its end.
    while (empty && at < in.size() && (static_cast<unsigned char>(in[at]) & 0xc0) == 0x80) ++at;
  }
  return 0;
}

Expected<RowTexts> Pattern::rows(StringRef written, const std::string& group, bool number) const {
  const int index = pcre2_substring_number_from_name(parts_->code, reinterpret_cast<PCRE2_SPTR>(group.c_str()));
  if (index <= 0) return parts_->complain(fmt::format("has no group '(?<{}>…)'", group));
  std::string own;
  const StringRef text = asUtf8(written, own);
  RowTexts rows;
  StringRef cut;
  const int code = parts_->forEach(text, 0, [&](const Taken&) {
    const size_t begin = parts_->ends()[2 * index], end = parts_->ends()[2 * index + 1];
    rows.emplace_back();
    if (begin == PCRE2_UNSET) return true;
    rows.back().push_back(text.slice(begin, end).str());
    if (number && expectedToOptional(readNumber(rows.back()[0]))) cut = wholeOf(text, text.slice(begin, end));
    return cut.empty() && rows.size() <= kMostValues;
  });
  if (code < 0) return parts_->gaveUp(code);
  if (!cut.empty())
    return parts_->complain(fmt::format("found '{}', which is a part of '{}': let the group take the whole number",
                                        excerpt(rows.back()[0]), excerpt(cut)));
  if (rows.empty()) return parts_->nothing("matches nothing");
  if (rows.size() > kMostValues) return parts_->complain("matches more than a million times");
  return rows;
}

Expected<Values> Pattern::read(StringRef written, Which which, std::string* left) const {
  std::string own;
  const StringRef text = asUtf8(written, own);
  std::vector<Taken> found;
  bool matched = false;
  const auto keep = [&](const Taken& one) {
    matched = true;
    if (which == Which::Last && one.group.data()) found.clear();
    if (one.group.data()) found.push_back(one);
    return found.size() <= kMostValues;
  };
  if (const int code = parts_->forEach(text, 0, keep); code < 0) return parts_->gaveUp(code);
  if (parts_->not_finite) {
    // Words such as "nan" count only behind the last number if the last value is wanted, and
    // otherwise where the pattern itself took nothing.
    const std::vector<Taken> numbers = found;
    const size_t from = which == Which::Last && !numbers.empty() ? numbers.back().end : 0;
    parts_->not_finite->forEach(text, from, [&](const Taken& one) {
      const size_t at = one.group.begin() - text.begin();
      const auto beside = std::ranges::upper_bound(numbers, at, {}, &Taken::end);
      return (beside != numbers.end() && beside->begin <= at) || keep(one);
    });
    std::ranges::sort(found, {}, [](const Taken& one) { return one.group.begin(); });
  }
  if (found.size() > kMostValues) return parts_->complain("matches more than a million times");
  if (found.empty()) return parts_->nothing(matched ? "matches, but its group matched nothing" : "matches nothing");
  Values values;
  for (const auto& [begin, end, digits] : found) {
    auto value = readNumber(digits);
    if (!value)
      return within(fmt::format("the pattern '{}' found something that is not a value: ", parts_->text),
                    value.takeError());
    // The group took only a part of a number: the pattern is wrong, and silently using the part
    // would be worse.
    if (const StringRef whole = wholeOf(text, digits); !whole.empty())
      return parts_->complain(fmt::format("found '{}', which is a part of '{}': make the group match the whole number",
                                          excerpt(digits), excerpt(whole)));
    values.push_back(*value);
  }
  // If the pattern's words occur once more behind the last value, the program may have failed to
  // print a number.
  if (left && parts_->any_word)
    parts_->any_word->forEach(text, found.back().end, [&](const Taken& one) {
      *left = excerpt(text.slice(one.begin, one.end), 80);
      return false;
    });
  return values;
}

}  // namespace expc::command
