#pragma once

// Diagnostics: what the compiler tells about a study. A phase is handed an Emitter, builds a diagnostic with
// notes and fixes, and gives it to the Collector, which drops repetitions and stops at a limit. Nothing is
// printed here: render.h writes a diagnostic as text or JSON, and `chooseFixes` picks the fixes that can be
// applied automatically.
//
// Kinds are registered in kinds.def; message texts are declared beside the code that emits them
// (EXPC_DIAGNOSTIC), so that a reader sees the condition and its message together and the compiler checks the
// arguments.

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

#include "compiler/diag/source.h"
#include "runtime/base/format.h"

namespace expc::diag {

/// Every kind of diagnostic, registered once in kinds.def. Codes are stable and never reused.
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

/// The severity that the letter of a kind's code says.
Severity severityOf(Kind kind);

/// Defines a diagnostic's kind and fmt format string. The types and number of its arguments are checked at compile
/// time. Declare it beside the code that emits it:
///   EXPC_DIAGNOSTIC(UnknownName, "unknown {0} '{1}'");
///   emitter.emit(range, UnknownName, "factor", name).note(other, "did you mean '{0}'?", best);
#define EXPC_DIAGNOSTIC(Name, Format)                                               \
  static constexpr struct {                                                         \
    static constexpr ::expc::diag::Kind kind() { return ::expc::diag::Kind::Name; } \
    static constexpr std::string_view format() { return Format; }                   \
  } Name {                                                                          \
  }

/// A remark about a second place, or a general remark.
struct Note {
  /// Invalid: only the message is shown, without a source line.
  source::Range range;
  std::string message;
};

/// How certain it is that a fix does what the author meant.
enum class Applicability {
  /// The result compiles and means what was meant. `expc check --fix` applies all of these.
  Certain,
  /// Probably what was meant. Shown to the user; an editor applies it only when asked for this one.
  Guess,
};

/// An edit: replaces the text at `range`. An empty range inserts; an empty replacement removes.
struct FixIt {
  source::Range range;
  std::string replacement;
  Applicability applicability = Applicability::Certain;
  bool operator==(const FixIt&) const = default;
};

struct Diagnostic {
  Kind kind = {};
  Severity severity = Severity::Error;
  /// Invalid if the diagnostic concerns the whole invocation.
  source::Range range;
  std::string message;
  std::vector<Note> notes;
  std::vector<FixIt> fixes;
};

/// Limit on the number of diagnostics that are kept. Nobody reads more.
inline constexpr size_t kMostTold = 300;

/// Keeps diagnostics in order of emission. Each is kept once (by place, kind and message), at most kMostTold in
/// total. The first error is kept beyond that limit, so that a flood of warnings cannot hide that compilation
/// failed.
class Collector {
 public:
  /// Whether `add` would keep it. Lets a Builder skip costly notes for a diagnostic that nobody will see.
  bool tells(const Diagnostic& diagnostic) const;
  void add(Diagnostic diagnostic);
  std::vector<Diagnostic> diagnostics;

 private:
  std::set<std::tuple<uint32_t, uint32_t, uint32_t, Kind, std::string>> told_;
  bool failed_ = false;
};

/// Sorts by file and place, diagnostics without a place first. Keeps the order of emission at equal places.
void sortByPlace(std::vector<Diagnostic>& diagnostics);

/// The names among which a misspelt one is searched. A function, because collecting them costs time and is only
/// needed for a diagnostic that is kept.
struct Candidates : std::function<std::vector<std::string>()> {
  using function::function;
  Candidates(std::vector<std::string> names) : function([names = std::move(names)] { return names; }) {}
  Candidates(std::initializer_list<std::string> names) : Candidates(std::vector(names)) {}
};

/// The return value of a function that reports an error and gives up: converts to `false` and to an empty
/// optional. A phase may write `return emitter.emit(…)`.
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

/// A text that counts as written at another place too: a part of a study, `use`d in it.
struct Inclusion {
  std::string name;
  /// The declared name, the whole declaration, and the place of its use.
  source::Range declared, whole, use;
};

/// A diagnostic under construction, which is reported when it is destroyed: without a name at the end of its statement.
/// If nobody will see it, notes are not formatted and suggestions are not searched.
class Builder : public Refusal {
 public:
  /// A builder whose diagnostic nobody will see.
  Builder() = default;
  /// `inclusions` may be null, as in Emitter.
  Builder(Collector& collector, Diagnostic diagnostic, const std::vector<Inclusion>* inclusions = nullptr)
      : collector_(collector.tells(diagnostic) ? &collector : nullptr),
        diagnostic_(std::move(diagnostic)),
        inclusions_(inclusions) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder();

  /// Adds a remark, at a place or (without a range, or with an invalid one) without one.
  template <typename... Args>
  Builder& note(source::Range range, fmt::format_string<Args...> format, Args&&... args) {
    if (collector_) diagnostic_.notes.push_back({range, fmt::format(format, std::forward<Args>(args)...)});
    return *this;
  }
  template <typename... Args>
  Builder& note(fmt::format_string<Args...> format, Args&&... args) {
    return note(source::Range(), format, std::forward<Args>(args)...);
  }
  /// Adds a fix that is certain.
  Builder& fix(source::Range range, std::string replacement) {
    diagnostic_.fixes.push_back({range, std::move(replacement), Applicability::Certain});
    return *this;
  }
  /// Adds the note "did you mean …?" and a fix that replaces `range` by `meant`. `range` must hold exactly the
  /// words to be replaced; if it is invalid, only the note is added.
  Builder& guess(source::Range range, std::string meant) {
    note("did you mean '{}'?", meant);
    if (range.isValid()) diagnostic_.fixes.push_back({range, std::move(meant), Applicability::Guess});
    return *this;
  }
  /// Guesses the candidate that is nearest to `name` and returns it. If none is near, adds the text that
  /// `otherwise` makes of all candidates as a note (none for an empty text).
  std::optional<std::string> suggest(source::Range range, std::string_view name, const Candidates& candidates,
                                     const std::function<std::string(const std::vector<std::string>&)>& otherwise = {});

 private:
  Collector* collector_ = nullptr;
  Diagnostic diagnostic_ = {};
  const std::vector<Inclusion>* inclusions_ = nullptr;
};

/// The interface through which a phase reports. Counts errors, including those that the collector drops, so
/// that a phase can tell whether it failed.
class Emitter {
 public:
  explicit Emitter(Collector& collector) : collector_(collector) {}

  /// Reports a diagnostic, to which notes and fixes may be added. An error is counted at once.
  template <typename Definition, typename... Args>
  Builder emit(source::Range range, Definition definition, const Args&... args) {
    const Severity severity = severityOf(definition.kind());
    if (severity == Severity::Error) ++errors_;
    constexpr fmt::format_string<const Args&...> format(Definition::format());
    return {collector_, {definition.kind(), severity, range, fmt::format(format, args...), {}, {}}, inclusions_};
  }
  size_t errors() const { return errors_; }

  /// Adds the place of use to everything that is reported inside one of `inclusions`, while it lives.
  class Including {
   public:
    Including(Emitter& emitter, const std::vector<Inclusion>& inclusions)
        : emitter_(emitter), before_(std::exchange(emitter.inclusions_, &inclusions)) {}
    Including(const Including&) = delete;
    Including& operator=(const Including&) = delete;
    ~Including() { emitter_.inclusions_ = before_; }

   private:
    Emitter& emitter_;
    const std::vector<Inclusion>* before_;
  };

 private:
  Collector& collector_;
  size_t errors_ = 0;
  const std::vector<Inclusion>* inclusions_ = nullptr;
};

/// A spelling of an earlier version, which still means what it did: what is written, and what is written now.
EXPC_DIAGNOSTIC(DeprecatedSpelling, "{0} is an old spelling: {1}");

// ---- names: unknown, declared twice, misspelt, and lists of them; shared so that every phase words them alike

EXPC_DIAGNOSTIC(UnknownName, "unknown {0} '{1}'{2}");
EXPC_DIAGNOSTIC(DuplicateName, "the {0} '{1}' is declared twice");

/// The candidate that `name` most likely misspells: the least Levenshtein distance, ignoring case, where two
/// swapped neighbours count as one edit. The distance is at most a third of the name's length; the first
/// candidate wins a tie. Nothing if none is near, if the name is longer than 64 bytes, or if there are more
/// than 1000 candidates.
std::optional<std::string> closest(std::string_view name, const std::vector<std::string>& candidates);

/// "did you mean 'gpus'?" if a candidate is near, else `otherwise`.
std::string didYouMean(std::string_view name, const std::vector<std::string>& candidates, std::string otherwise);

/// Emits UnknownName with the nearest candidate as a guess, or else with the list of candidates if it is short
/// (20). `range` holds the name and nothing else; `what` says what kind of name it is ("factor"), `of` whose it
/// is (" of the design"). `meant` gets the guess.
Refusal unknownName(Emitter& emitter, source::Range range, std::string_view what, std::string_view name,
                    const Candidates& candidates, std::string_view of = "",
                    std::optional<std::string>* meant = nullptr);
/// Emits DuplicateName with a note at the first declaration.
Refusal duplicateName(Emitter& emitter, source::Range range, std::string_view what, std::string_view name,
                      source::Range first);

/// "a, b and c", or "" for none; `last` replaces "and". More than 100 names are cut and counted.
std::string list(const std::vector<std::string>& names, std::string_view last = "and");

// ---- fixes that are applied

/// Fixes that can be applied at once.
struct FixSet {
  /// Sorted by file and place; no two overlap, and none occurs twice.
  std::vector<FixIt> edits;
  /// The diagnostics that these edits fix, as indices into the list that was given.
  std::vector<size_t> mended;
};

/// Chooses fixes to apply, in the order of the diagnostics. The fixes of one diagnostic are taken together or
/// not at all: each must be certain, lie in a file for which `may_change` holds, and not overlap an earlier
/// one. A caller checks the result again and repeats, since fixes left out here may fit then.
FixSet chooseFixes(const std::vector<Diagnostic>& diagnostics, const std::function<bool(source::FileId)>& may_change);

/// `text` of `file` with the edits of that file applied. `edits` must be sorted and free of overlaps, as
/// chooseFixes returns them.
std::string applyFixes(std::string_view text, source::FileId file, const std::vector<FixIt>& edits);

}  // namespace expc::diag
