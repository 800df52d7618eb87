#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/source/source.h"

namespace expc::diag {

/// Every kind of diagnostic, registered once in kinds.def.
enum class Kind : uint16_t {
#define EXPC_DIAGNOSTIC_KIND(name, code, slug) name,
#include "compiler/diag/kinds.def"
};

std::string_view code(Kind kind);  // "E0203"
std::string_view slug(Kind kind);  // "unknown-name"
std::string_view name(Kind kind);  // "UnknownName"
/// All registered kinds, for the coverage test and `expc explain`.
const std::vector<Kind>& allKinds();

enum class Severity { Error, Warning, Note };

/// A diagnostic's kind, severity and format string, which its arguments are held to when it is compiled. Declared
/// beside its emit:
///   EXPC_DIAGNOSTIC(UnknownName, Error, "unknown {0} '{1}'");
///   emitter.build(range, UnknownName, "factor", name).note(other, "did you mean '{0}'?", best).emit();
#define EXPC_DIAGNOSTIC(Name, SeverityName, Format)                                                     \
  static constexpr struct {                                                                             \
    static constexpr ::expc::diag::Kind kind() { return ::expc::diag::Kind::Name; }                     \
    static constexpr ::expc::diag::Severity severity() { return ::expc::diag::Severity::SeverityName; } \
    static constexpr std::string_view format() { return Format; }                                       \
  } Name {                                                                                              \
  }

/// A related place.
struct Note {
  source::Range range;  // may be invalid: then only the message is shown
  std::string message;
};

/// How sure a fix is.
enum class Applicability {
  Certain,  // it compiles and means what was meant: carried out on request for the whole file
  Guess,    // what was probably meant: shown, and carried out one by one
};

/// Replace `range` by `replacement`.
struct FixIt {
  source::Range range;
  std::string replacement;
  Applicability applicability = Applicability::Certain;
  bool operator==(const FixIt&) const = default;
};

struct Diagnostic {
  Kind kind;
  Severity severity;
  source::Range range;  // invalid: concerns the whole invocation
  std::string message;
  std::vector<Note> notes;
  std::vector<FixIt> fixes;
};

/// Nobody reads more mistakes, so no more are told.
inline constexpr size_t kMostTold = 300;

/// Keeps what is told, in order of emission: each mistake once and at most kMostTold, beyond which the first error is
/// still told where there was none.
class Collector {
 public:
  bool tells(const Diagnostic& diagnostic) const;
  void add(Diagnostic diagnostic);
  std::vector<Diagnostic> diagnostics;

 private:
  std::set<std::tuple<uint32_t, uint32_t, uint32_t, Kind, std::string>> told_;
  bool failed_ = false;
};

/// Orders by file and place, those without a place first, and keeps the order of emission otherwise.
void sortByPlace(std::vector<Diagnostic>& diagnostics);

/// The names that could have been meant. To gather them costs as much as there are.
struct Candidates : std::function<std::vector<std::string>()> {
  using function::function;
  Candidates(std::vector<std::string> names) : function([names = std::move(names)] { return names; }) {}
  Candidates(std::initializer_list<std::string> names) : Candidates(std::vector(names)) {}
};

/// What a report leaves of what was asked for: it is false, or nothing.
struct Refusal {
  template <std::same_as<bool> T>
  operator T() const {
    return false;
  }
  template <typename T>
  operator std::optional<T>() const {
    return std::nullopt;
  }
};

/// A diagnostic that is made; one that is not told gets no notes, and nothing is looked for in its name.
class Builder {
 public:
  Builder(Collector& collector, Diagnostic diagnostic)
      : collector_(collector), diagnostic_(std::move(diagnostic)), told_(collector.tells(diagnostic_)) {}

  template <typename... Args>
  Builder& note(source::Range range, fmt::format_string<Args...> format, Args&&... args) {
    if (told_) diagnostic_.notes.push_back({range, fmt::format(format, std::forward<Args>(args)...)});
    return *this;
  }
  /// A fix that is certain.
  Builder& fix(source::Range range, std::string replacement) {
    diagnostic_.fixes.push_back({range, std::move(replacement), Applicability::Certain});
    return *this;
  }
  /// Asks whether `meant` was to stand at `range`, which holds nothing but the words that it would replace.
  Builder& guess(source::Range range, std::string meant) {
    note({}, "did you mean '{}'?", meant);
    if (range.isValid()) diagnostic_.fixes.push_back({range, std::move(meant), Applicability::Guess});
    return *this;
  }
  /// The same of the candidate that is nearest to `name`, and returns it; where none is near, a note says what
  /// `otherwise` makes of them all, if it makes anything.
  std::optional<std::string> suggest(source::Range range, std::string_view name, const Candidates& candidates,
                                     const std::function<std::string(const std::vector<std::string>&)>& otherwise = {});
  void emit() {
    if (told_) collector_.add(std::move(diagnostic_));
  }
  /// Emits it, for who gives up then.
  Refusal refuse() {
    emit();
    return {};
  }

 private:
  Collector& collector_;
  Diagnostic diagnostic_;
  bool told_;
};

/// What each phase is handed to report with. Counts errors so that a phase can tell whether it failed.
class Emitter {
 public:
  explicit Emitter(Collector& collector) : collector_(collector) {}

  template <typename Definition, typename... Args>
  Builder build(source::Range range, Definition definition, const Args&... args) {
    if (definition.severity() == Severity::Error) ++errors_;
    constexpr fmt::format_string<const Args&...> format(Definition::format());
    return {collector_, {definition.kind(), definition.severity(), range, fmt::format(format, args...), {}, {}}};
  }
  template <typename Definition, typename... Args>
  void emit(source::Range range, Definition definition, const Args&... args) {
    build(range, definition, args...).emit();
  }
  template <typename Definition, typename... Args>
  Refusal refuse(source::Range range, Definition definition, const Args&... args) {
    return build(range, definition, args...).refuse();
  }
  size_t errors() const { return errors_; }

 private:
  Collector& collector_;
  size_t errors_ = 0;
};

// ---- names that are unknown or declared twice, the ones that were meant, and lists of names: what every phase says
// in the same words

EXPC_DIAGNOSTIC(UnknownName, Error, "unknown {0} '{1}'{2}");
EXPC_DIAGNOSTIC(DuplicateName, Error, "the {0} '{1}' is declared twice");

/// The candidate that `name` most likely meant: the least edit distance (case counts little), at most a third of the
/// length, the first on a tie; nothing when none is near.
std::optional<std::string> closest(std::string_view name, const std::vector<std::string>& candidates);

/// "did you mean 'gpus'?" where a candidate is near, else `otherwise`.
std::string didYouMean(std::string_view name, const std::vector<std::string>& candidates, std::string otherwise);

/// Emits UnknownName with the nearest candidate as a guess, or else the list of candidates if it is short. `range`
/// holds the name and nothing else; `of` says whose name it is: " of the design". `meant` gets the guess.
Refusal unknownName(Emitter& emitter, source::Range range, std::string_view what, std::string_view name,
                    const Candidates& candidates, std::string_view of = "",
                    std::optional<std::string>* meant = nullptr);
/// Emits DuplicateName with a note at the first one.
Refusal duplicateName(Emitter& emitter, source::Range range, std::string_view what, std::string_view name,
                      source::Range first);

/// "a, b and c", or "" for none.
std::string list(const std::vector<std::string>& names, std::string_view last = "and");

// ---- fixes that are carried out

/// Certain fixes that can be carried out at once.
struct FixSet {
  /// By file and place; no two overlap and none is there twice.
  std::vector<FixIt> edits;
  /// The diagnostics that they mend, as indices into what was given.
  std::vector<size_t> mended;
};

/// Chooses from the fixes of all diagnostics, in order: those of one diagnostic together or not at all, all of them
/// certain and in files for which `may_change` holds.
FixSet chooseFixes(const std::vector<Diagnostic>& diagnostics, const std::function<bool(source::FileId)>& may_change);

/// `text` of `file` after the edits of that file. They must be as chooseFixes leaves them.
std::string applyFixes(std::string_view text, source::FileId file, const std::vector<FixIt>& edits);

}  // namespace expc::diag
