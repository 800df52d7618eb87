#pragma once

// The state behind the language server: open documents, what they compile to, and how the protocol's URIs, lines and
// columns map to paths and bytes.
//
// Compilation is lazy and whole. A change only raises a generation number; the next request that needs a document
// compiles it from scratch with all its imports. Studies are small, so this is fast enough, and it leaves no stale
// state to keep consistent. One thread uses a workspace at a time.

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

/// The unit in which columns are counted. The client chooses it when it connects; UTF-16 is the protocol's default.
enum class Encoding { Utf8, Utf16 };

/// A place as the protocol writes it. Both numbers count from zero.
struct Position {
  uint32_t line = 0;
  uint32_t character = 0;
  bool operator==(const Position&) const = default;
};

/// Maps byte offsets of a text to lines and columns and back. Borrows the text. Lines end in LF, CR LF or CR.
class LineIndex {
 public:
  LineIndex() : LineIndex(std::string_view()) {}
  explicit LineIndex(std::string_view text);

  /// The position of a byte. A byte inside a character has the column of that character; an offset past the end counts
  /// as the end.
  Position position(size_t offset, Encoding encoding) const;
  /// The byte of a position. A column past the end of its line means that end, a line past the last the end of the
  /// text, a column inside a character its beginning. Clients may send positions of an older text, so nothing here may
  /// fail.
  size_t offset(Position position, Encoding encoding) const;

 private:
  std::string_view line(size_t index) const;  // without its line end

  std::string_view text_;
  std::vector<size_t> starts_;  // offsets of the lines' first bytes
};

/// A file as the editor has it. It must not be copied or moved, since `lines` borrows `text`.
struct Document {
  std::string uri, path;  // as the client writes it; the path by which other files import it
  int64_t version = 0;
  std::string text;
  LineIndex lines{text};

  /// Sets the whole text.
  void replaceAll(std::string with);
  /// Replaces the text between two positions. If they are in the wrong order, nothing is removed and the text is
  /// inserted at the first.
  void replace(Position begin, Position end, std::string_view with, Encoding encoding);
};

/// One document compiled together with the files that it imports. It owns copies of all texts, so it stays valid while
/// the document changes.
struct Analysis {
  source::SourceManager sources;
  /// False if the text was refused as a whole (too large, not UTF-8); then there is only a diagnostic.
  bool loaded = false;
  source::FileId root{0};
  check::Program program;
  std::vector<parse::LexedToken> tokens;  // of the root file, with comments
  diag::Collector said;                   // diagnostics of parse and check, and once `verified` of the lints too
  bool parsed = false;                    // no file has a syntax error
  bool verified = false;                  // Workspace::verify() has added its lints

  const check::Names& names() const { return program.names; }
  /// The line index of a file, made when it is first asked for.
  const LineIndex& lines(source::FileId file);

 private:
  std::map<uint32_t, LineIndex> lines_;
};

/// The open documents, and a cache of what they compile to.
class Workspace {
 public:
  /// `disk` reads files that are not open. Copies of built-in modules are written to the folder `library` when one is
  /// first to be shown; "" if they cannot be shown.
  Workspace(load::FileSystem disk, std::string library) : disk_(std::move(disk)), library_(std::move(library)) {}

  // The client's capabilities, as it announced them.
  Encoding encoding = Encoding::Utf16;
  bool snippets = false;

  /// The largest grids, in combinations of levels, that are walked for lints and counts. A walk must not delay typing.
  struct Limits {
    uint64_t typing = 100'000;    // while someone types, and for hovers
    uint64_t saved = 20'000'000;  // when a file is opened or saved
  };
  Limits limits;

  /// Adds a document, or replaces the one with the same URI.
  Document& open(std::string uri, int64_t version, std::string text);
  /// Forgets a document and its analysis.
  void close(const std::string& uri);
  /// The open document with this URI, or null.
  Document* find(const std::string& uri);
  const std::map<std::string, std::unique_ptr<Document>>& documents() const { return documents_; }

  /// Marks everything that was compiled as out of date, after a text changed here or on the disk.
  void changed() { ++generation_; }
  /// The analysis of a document, up to date. Owned by the workspace and valid until the next change.
  Analysis& analyse(const Document& document);
  /// Adds the lints of the grid and of the design's statistics to an analysis, once. Does nothing if a study's grid is
  /// larger than `most` combinations, or if there are syntax errors.
  void verify(Analysis& analysis, uint64_t most);
  /// Whether `document` depended on the file at `path` when it was last compiled: imported it, directly or through
  /// others, or looked for it in vain. True for a document that was never compiled.
  bool mayImport(const Document& document, const std::string& path) const;

  /// The URI under which an editor can open a file of an analysis; nothing for a built-in module that cannot be shown.
  std::optional<std::string> uri(Analysis& analysis, source::FileId file);
  /// The URI of the page that explains a kind of diagnostic; nothing without a library folder.
  std::optional<std::string> explanation(diag::Kind kind) const;

 private:
  /// A compiled document, with the generation it was compiled in.
  struct Cached {
    uint64_t generation = 0;
    std::unique_ptr<Analysis> analysis;
    std::set<std::string> read;  // paths that the compilation asked for, found or not
  };

  /// Compiles a document; paths that are read go to `read`.
  std::unique_ptr<Analysis> compile(const Document& document, std::set<std::string>& read) const;
  /// A file system in which open documents hide the files on the disk; paths that are asked for go to `read`.
  load::FileSystem files(std::set<std::string>& read) const;

  load::FileSystem disk_;
  std::string library_;
  std::map<std::string, std::unique_ptr<Document>> documents_;  // by URI
  std::map<std::string, Cached> cache_;
  uint64_t generation_ = 1;
};

/// The combinations of a study's levels before its rules; UINT64_MAX if they overflow.
uint64_t productOf(const check::Study& study);

/// The user's cache folder for texts that `expc` carries inside itself and an editor shall open: built-in modules and
/// the pages of `expc explain`. Below XDG_CACHE_HOME, else below ~/.cache; "" without both.
std::string libraryFolder();

/// The path of a `file:` URI, with percent escapes decoded and dots resolved; nothing for other schemes.
std::optional<std::string> pathOf(std::string_view uri);

/// The `file:` URI of an absolute path.
std::string uriOf(std::string_view path);

}  // namespace expc::editor
