// Open documents and their compilation; URIs, paths, and lines and columns. An open document hides the file on the
// disk, so a study sees the unsaved text of a module that it imports.
//
// Built-in modules have no file. An editor can only open files, so their texts are written, read-only, to the user's
// cache when they are first shown; so are the pages that explain diagnostics.

#include "compiler/editor/workspace.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "compiler/editor/explain.h"
#include "compiler/lower/lower.h"
#include "compiler/parse/parse.h"
#include "runtime/base/files/files.h"
#include "runtime/base/hash.h"
#include "runtime/plan/plan.h"
#include "stdlib/stdlib.h"

namespace expc::editor {
namespace {

/// The prefix of the names under which compiler/parse/load.cpp keeps built-in modules.
constexpr std::string_view kLibrary = "<stdlib>/";

/// Writes `text` to FOLDER/GROUP/DIGEST/NAME, unless it is there, and returns the path; nothing if that fails or
/// `folder` is "". The digest is the text's, so that several versions of expc do not overwrite each other's files.
std::optional<std::string> showText(const std::string& folder, std::string_view group, std::string_view name,
                                    std::string_view text) {
  if (folder.empty()) return std::nullopt;
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, StringRef(group), base::shortHash(text));
  if (llvm::sys::fs::create_directories(path)) return std::nullopt;
  llvm::sys::path::append(path, StringRef(name));
  // A file of the right size under the text's digest is the text; one of another size was left by a broken write.
  uint64_t size = 0;
  if (!llvm::sys::fs::file_size(path, size) && size == text.size()) return std::string(path.str());
  if (llvm::errorToBool(files::write(path.str().str(), text))) return std::nullopt;
  using llvm::sys::fs::perms;
  // Read-only, so that nobody edits a copy in the belief that it has an effect.
  llvm::sys::fs::setPermissions(path, static_cast<perms>(perms::owner_read | perms::group_read));
  return std::string(path.str());
}

/// Whether a byte of UTF-8 continues a character.
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// The length in bytes of the character at `at`; one for a byte that begins none.
size_t bytesOf(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && end < at + 4 && continues(text[end])) ++end;
  return end - at;
}

/// The columns of a character of that many bytes. UTF-16 needs two units for characters outside the basic plane, which
/// are those of four bytes.
uint32_t columnsOf(size_t bytes, Encoding encoding) {
  if (encoding == Encoding::Utf8) return uint32_t(bytes);
  return bytes == 4 ? 2 : 1;
}

}  // namespace

uint64_t productOf(const check::Study& study) {
  uint64_t product = 1;
  for (const check::Factor& factor : study.factors)
    if (__builtin_mul_overflow(product, uint64_t(factor.levels.size()), &product)) return UINT64_MAX;
  return product;
}

LineIndex::LineIndex(std::string_view text) : text_(text), starts_{0} {
  for (size_t at = 0; at < text.size(); ++at) {
    // A CR LF ends the line once, at the LF.
    const bool pair = text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n';
    if (text[at] == '\n' || (text[at] == '\r' && !pair)) starts_.push_back(at + 1);
  }
}

std::string_view LineIndex::line(size_t index) const {
  const size_t begin = starts_[index];
  size_t end = index + 1 < starts_.size() ? starts_[index + 1] : text_.size();
  while (end > begin && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) --end;
  return text_.substr(begin, end - begin);
}

Position LineIndex::position(size_t offset, Encoding encoding) const {
  offset = std::min(offset, text_.size());
  const auto after = std::ranges::upper_bound(starts_, offset);
  const size_t index = size_t(after - starts_.begin()) - 1;
  const std::string_view all = line(index);
  // The columns of a line are counted from its beginning. Lines are short, so no table of columns is kept.
  const size_t wanted = offset - starts_[index];
  uint32_t column = 0;
  for (size_t at = 0; at < all.size();) {
    const size_t bytes = bytesOf(all, at);
    // A byte inside this character: stay in front of it.
    if (at + bytes > wanted) break;
    column += columnsOf(bytes, encoding);
    at += bytes;
  }
  return {uint32_t(index), column};
}

size_t LineIndex::offset(Position position, Encoding encoding) const {
  if (position.line >= starts_.size()) return text_.size();
  const std::string_view all = line(position.line);
  uint32_t column = 0;
  size_t at = 0;
  while (at < all.size()) {
    const size_t bytes = bytesOf(all, at);
    column += columnsOf(bytes, encoding);
    // A column inside this character: stay in front of it.
    if (column > position.character) break;
    at += bytes;
  }
  return starts_[position.line] + at;
}

std::string libraryFolder() {
  llvm::SmallString<128> folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/') {
    folder = cache;
  } else if (const char* home = std::getenv("HOME"); home && *home == '/') {
    folder = home;
    llvm::sys::path::append(folder, ".cache");
  } else {
    return "";
  }
  llvm::sys::path::append(folder, "expc");
  return std::string(folder.str());
}

void Document::replaceAll(std::string with) {
  text = std::move(with);
  lines = LineIndex(text);
}

void Document::replace(Position begin, Position end, std::string_view with, Encoding encoding) {
  const size_t first = lines.offset(begin, encoding);
  // A client may send the ends in the wrong order; then nothing is removed.
  const size_t last = std::max(first, lines.offset(end, encoding));
  text.replace(first, last - first, with);
  lines = LineIndex(text);
}

std::optional<std::string> pathOf(std::string_view uri) {
  StringRef rest(uri);
  if (!rest.consume_front_insensitive("file://")) return std::nullopt;
  rest = rest.drop_front(std::min(rest.find('/'), rest.size()));  // a host, if any, names this machine
  if (rest.empty()) return std::nullopt;
  std::string path;
  for (size_t at = 0; at < rest.size(); ++at) {
    unsigned byte = 0;
    // A percent sign that is followed by no two hexadecimal digits stands for itself.
    if (rest[at] == '%' && at + 2 < rest.size() && !rest.substr(at + 1, 2).getAsInteger(16, byte)) {
      path += char(byte);
      at += 2;
    } else {
      path += rest[at];
    }
  }
  // The system would cut the path off at the zero.
  if (path.find('\0') != std::string::npos) return std::nullopt;
  return load::normalized(path);
}

std::string uriOf(std::string_view path) {
  // Characters of RFC 3986 that a path may hold unescaped, besides letters and digits.
  static constexpr std::string_view kPlain = "/-._~:@!$&'()*+,;=";
  std::string uri = "file://";
  for (const char byte : path) {
    if (llvm::isAlnum(byte) || kPlain.find(byte) != std::string_view::npos) {
      uri += byte;
    } else {
      uri += '%';
      uri += llvm::hexdigit(static_cast<unsigned char>(byte) >> 4);
      uri += llvm::hexdigit(static_cast<unsigned char>(byte) & 15);
    }
  }
  return uri;
}

const LineIndex& Analysis::lines(source::FileId file) {
  auto [at, fresh] = lines_.try_emplace(file.index);
  if (fresh) at->second = LineIndex(sources.text(file));
  return at->second;
}

Document& Workspace::open(std::string uri, int64_t version, std::string text) {
  changed();
  // A buffer that was never saved has no path. It is named by its URI, and its relative imports are not found.
  std::string path = pathOf(uri).value_or(uri);
  auto& slot = documents_[uri];
  // A new object, never a move: the line index borrows the text.
  slot.reset(new Document{uri, std::move(path), version, std::move(text)});
  return *slot;
}

void Workspace::close(const std::string& uri) {
  changed();
  documents_.erase(uri);
  cache_.erase(uri);
}

Document* Workspace::find(const std::string& uri) {
  const auto found = documents_.find(uri);
  return found == documents_.end() ? nullptr : found->second.get();
}

load::FileSystem Workspace::files(std::set<std::string>& read) const {
  return {[this, &read](const std::string& path) -> Expected<std::string> {
    const std::string wanted = load::normalized(path);
    // Recorded even if the file does not exist: creating it must compile the document again.
    read.insert(wanted);
    for (const auto& [uri, document] : documents_)
      // The editor's text hides the file on the disk, saved or not.
      if (document->path == wanted) return document->text;
    return disk_.read(path);
  }};
}

std::unique_ptr<Analysis> Workspace::compile(const Document& document, std::set<std::string>& read) const {
  auto analysis = std::make_unique<Analysis>();
  diag::Emitter emitter(analysis->said);
  // The checker goes on behind syntax errors, so names are known in a file that does not compile.
  const auto root = parse::load(analysis->sources, document.path, document.text, emitter);
  if (root) {
    analysis->loaded = true;
    analysis->root = *root;
    analysis->program =
        check::check(analysis->sources, load::load(analysis->sources, *root, files(read), emitter), emitter);
    analysis->tokens = parse::tokens(analysis->sources, *root);
  }
  analysis->parsed = analysis->loaded && analysis->program.modules.parsed;
  return analysis;
}

Analysis& Workspace::analyse(const Document& document) {
  Cached& cached = cache_[document.uri];
  // The old analysis goes first, so that two copies of all texts are never held at once.
  if (!cached.analysis || cached.generation != generation_) {
    cached.analysis.reset();
    cached.read.clear();
    cached.analysis = compile(document, cached.read);
    cached.generation = generation_;
  }
  return *cached.analysis;
}

void Workspace::verify(Analysis& analysis, uint64_t most) {
  const auto large = [&](const auto& study) { return productOf(*study) > most; };
  if (analysis.verified || !analysis.parsed || std::ranges::any_of(analysis.program.studies, large)) return;
  analysis.verified = true;
  diag::Emitter emitter(analysis.said);
  points::verify(analysis.program, {}, emitter);
}

bool Workspace::mayImport(const Document& document, const std::string& path) const {
  const auto found = cache_.find(document.uri);
  return found == cache_.end() || !found->second.analysis || found->second.read.contains(path);
}

std::optional<std::string> Workspace::uri(Analysis& analysis, source::FileId file) {
  std::string_view name = analysis.sources.name(file);
  // A built-in module: show a copy of its text. Its name is between the prefix and ".exp".
  if (name.starts_with(kLibrary)) {
    name.remove_prefix(kLibrary.size());
    name.remove_suffix(std::min<size_t>(name.size(), 4));  // ".exp"
    const std::optional<std::string_view> text = stdlib::module(name);
    const auto path = text ? showText(library_, "stdlib", std::string(name) + ".exp", *text) : std::nullopt;
    return path ? std::optional(uriOf(*path)) : std::nullopt;
  }
  // The URI of an open document is the client's own spelling, which it compares by letter.
  const std::string path = load::normalized(name);
  for (const auto& [uri, document] : documents_)
    if (document->path == path) return uri;
  return uriOf(path);
}

std::optional<std::string> Workspace::explanation(diag::Kind kind) const {
  const std::optional<std::string> path =
      showText(library_, "explain", std::string(diag::code(kind)) + ".md", editor::page(kind));
  return path ? std::optional(uriOf(*path)) : std::nullopt;
}

}  // namespace expc::editor
