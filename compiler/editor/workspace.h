#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/check/check.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/parse/antlr_bridge.h"

namespace expc::editor {

/// What a column counts; agreed on when the client says hello.
enum class Encoding { Utf8, Utf16 };

/// A place as the protocol writes it: both numbers count from zero.
struct Position {
  uint32_t line = 0;
  uint32_t character = 0;
  bool operator==(const Position&) const = default;
};

/// Turns bytes of a text into lines and columns and back. The text must stay where it is. Lines end in LF, CR LF or CR.
class LineIndex {
 public:
  LineIndex() : LineIndex(std::string_view()) {}
  explicit LineIndex(std::string_view text);

  /// Of a byte inside a character, the character's own column.
  Position position(size_t offset, Encoding encoding) const;
  /// A column past the end of its line stands for that end, a line past the last for the end of the text; a column
  /// inside a character for the beginning of it.
  size_t offset(Position position, Encoding encoding) const;

 private:
  std::string_view line(size_t index) const;  // without its end

  std::string_view text_;
  std::vector<size_t> starts_;
};

/// A file as the editor has it. It stays where it is, since its lines are those of its text.
struct Document {
  std::string uri, path;  // as the client writes it; what other files import it by
  int64_t version = 0;
  std::string text;
  LineIndex lines{text};

  void replaceAll(std::string with);
  /// Replaces what stands between two places; where they are in the wrong order, nothing is removed.
  void replace(Position begin, Position end, std::string_view with, Encoding encoding);
};

/// One document compiled, with the files that it imports. It keeps its own copy of every text.
struct Analysis {
  source::SourceManager sources;
  bool loaded = false;  // false: the text was refused as a whole; then there is only a diagnostic
  source::FileId root{0};
  check::Program program;
  std::vector<parse::LexedToken> tokens;  // of the root
  diag::Collector said;                   // by parse and check; by verify too where `verified`
  bool parsed = false;                    // no syntax error in any file
  bool verified = false;

  const check::Names& names() const { return program.names; }
  const LineIndex& lines(source::FileId file);

 private:
  std::map<uint32_t, LineIndex> lines_;
};

/// The open documents and what they compile to.
class Workspace {
 public:
  /// `disk` is where files come from that are not open. Built-in modules are shown from `library`, a folder that is
  /// filled when one is first asked for; "" if they cannot be shown.
  Workspace(load::FileSystem disk, std::string library) : disk_(std::move(disk)), library_(std::move(library)) {}

  // What the client takes.
  Encoding encoding = Encoding::Utf16;
  bool snippets = false;

  /// The largest grids (combinations of levels) that are walked.
  struct Limits {
    uint64_t typing = 100'000;    // while someone types, and for hovers
    uint64_t saved = 20'000'000;  // when a file is opened or saved
  };
  Limits limits;

  Document& open(std::string uri, int64_t version, std::string text);
  void close(const std::string& uri);
  Document* find(const std::string& uri);
  const std::map<std::string, std::unique_ptr<Document>>& documents() const { return documents_; }

  /// Says that a text has changed, here or on the disk: what was compiled is compiled again when it is asked for.
  void changed() { ++generation_; }
  /// Up to date; the caller's until the next change.
  Analysis& analyse(const Document& document);
  /// Adds the lints of the grid and of the design's statistics, unless the grid is larger than `most` combinations.
  void verify(Analysis& analysis, uint64_t most);
  /// Whether `document` imported the file at `path`, directly or through others, when it was last compiled, or looked
  /// for it; a document that never was may import anything.
  bool mayImport(const Document& document, const std::string& path) const;

  /// Where an editor can open a file of an analysis; nothing for a built-in module that cannot be shown.
  std::optional<std::string> uri(Analysis& analysis, source::FileId file);
  /// Where the page that explains a kind of diagnostic can be opened; nothing without a library folder.
  std::optional<std::string> explanation(diag::Kind kind) const;

 private:
  struct Cached {
    uint64_t generation = 0;
    std::unique_ptr<Analysis> analysis;
    std::set<std::string> read;  // paths that were asked for
  };

  std::unique_ptr<Analysis> compile(const Document& document, std::set<std::string>& read) const;
  load::FileSystem files(std::set<std::string>& read) const;

  load::FileSystem disk_;
  std::string library_;
  std::map<std::string, std::unique_ptr<Document>> documents_;  // by URI
  std::map<std::string, Cached> cache_;
  uint64_t generation_ = 1;
};

/// The combinations of a study's levels before the rules; UINT64_MAX where they are more.
uint64_t productOf(const check::Study& study);

/// The folder under the user's cache in which an editor finds what `expc` carries in itself: built-in modules, the
/// pages of `expc explain`. XDG_CACHE_HOME, else ~/.cache; "" without both.
std::string libraryFolder();

/// The path of a `file:` URI, with its percent signs resolved and dots removed; nothing for other schemes.
std::optional<std::string> pathOf(std::string_view uri);

/// The `file:` URI of an absolute path.
std::string uriOf(std::string_view path);

}  // namespace expc::editor
