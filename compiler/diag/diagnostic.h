#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
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

/// A diagnostic's kind, severity and format string, with the types of its arguments. Declared beside its emit:
///   EXPC_DIAGNOSTIC(UnknownName, Error, "unknown {0} '{1}'", std::string_view, std::string_view);
///   emitter.build(range, UnknownName, "factor", name).note(other, "did you mean '{0}'?", best).emit();
template <typename... Args>
struct Definition {
  Kind kind;
  Severity severity;
  std::string_view format;
};

#define EXPC_DIAGNOSTIC(Name, SeverityName, Format, ...)                   \
  static constexpr ::expc::diag::Definition<__VA_ARGS__> Name {            \
    ::expc::diag::Kind::Name, ::expc::diag::Severity::SeverityName, Format \
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

class Consumer {
 public:
  virtual ~Consumer() = default;
  virtual void handle(Diagnostic diagnostic) = 0;
};

/// Keeps everything, in order of emission.
class Collector : public Consumer {
 public:
  void handle(Diagnostic diagnostic) override { diagnostics.push_back(std::move(diagnostic)); }
  std::vector<Diagnostic> diagnostics;
};

class Builder {
 public:
  Builder(Consumer& consumer, Diagnostic diagnostic) : consumer_(consumer), diagnostic_(std::move(diagnostic)) {}

  template <typename... Args>
  Builder& note(source::Range range, fmt::format_string<Args...> format, Args&&... args) {
    diagnostic_.notes.push_back({range, fmt::format(format, std::forward<Args>(args)...)});
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
  void emit() { consumer_.handle(std::move(diagnostic_)); }

 private:
  Consumer& consumer_;
  Diagnostic diagnostic_;
};

/// What each phase is handed to report with. Counts errors so that a phase can tell whether it failed.
class Emitter {
 public:
  explicit Emitter(Consumer& consumer) : consumer_(consumer) {}

  template <typename... Params>
  Builder build(source::Range range, const Definition<Params...>& definition, std::type_identity_t<Params>... args) {
    if (definition.severity == Severity::Error) ++errors_;
    return Builder(
        consumer_,
        {definition.kind, definition.severity, range, fmt::format(fmt::runtime(definition.format), args...), {}, {}});
  }
  template <typename... Params>
  void emit(source::Range range, const Definition<Params...>& definition, std::type_identity_t<Params>... args) {
    build(range, definition, std::move(args)...).emit();
  }
  size_t errors() const { return errors_; }

 private:
  Consumer& consumer_;
  size_t errors_ = 0;
};

}  // namespace expc::diag
