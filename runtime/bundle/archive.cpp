// Packing and unpacking by libarchive. Unpacking trusts nothing: what it writes is bounded by the size of the
// archive, and every name is checked before a file is made, so that a hostile archive can neither fill the disk nor
// write outside of the folder.

#include "runtime/bundle/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <llvm/ADT/ScopeExit.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/JSON.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/llvm.h"

namespace expc::bundle {
namespace {

namespace fs = std::filesystem;

using Archive = std::unique_ptr<archive, int (*)(archive*)>;
using Entry = std::unique_ptr<archive_entry, void (*)(archive_entry*)>;

/// Bounds for unpacking, by the size of the archive. A journal is packed to a fortieth or so, and inputs
/// (kMostOfInputs) may consist of zeros. Each file has a digest of 32 bytes in the manifest, which cannot be packed,
/// so an archive of n bytes has fewer than n / 16 files and folders.
constexpr uint64_t kMostBytes = (8 << 20) + kMostOfInputs, kMostPacked = 300, kMostEntries = 1000, kLeastOfEntry = 16;
constexpr size_t kLongestName = 4096;

/// Makes names UTF-8 in the archive, whatever the locale: libarchive takes the encoding from the thread's locale.
/// The old locale is back when the returned guard ends.
auto utf8Names() {
  const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr), before = uselocale(utf8);
  return llvm::make_scope_exit([=] {
    uselocale(before);
    if (utf8) freelocale(utf8);
  });
}

Error errorOf(const std::string& path, archive* of) {
  const char* why = archive_error_string(of);
  return failure("{}: {}", path, why ? why : "cannot be read as an archive");
}

/// Adds one file. Only its name, content and permission to run are kept.
Error add(archive* out, const std::string& path, const std::string& folder, const std::string& name) {
  auto content = TRY(files::read(folder + "/" + name));
  const Entry entry(archive_entry_new(), archive_entry_free);
  archive_entry_set_pathname(entry.get(), name.c_str());
  if (!json::isUTF8(name))
    return failure("the name '{}' is not UTF-8, so an archive cannot hold the file: rename it", json::fixUTF8(name));
  archive_entry_set_size(entry.get(), int64_t(content->getBufferSize()));
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), access((folder + "/" + name).c_str(), X_OK) == 0 ? 0755 : 0644);
  archive_entry_set_mtime(entry.get(), 0, 0);
  if (archive_write_header(out, entry.get()) != ARCHIVE_OK) return errorOf(path, out);
  const auto written = archive_write_data(out, content->getBufferStart(), content->getBufferSize());
  if (written != la_ssize_t(content->getBufferSize())) return errorOf(path, out);
  return Error::success();
}

/// Whether a name from an archive stays below the folder that it is unpacked into.
bool staysInside(const fs::path& name) {
  if (name.empty() || name.is_absolute() || name.native().size() > kLongestName) return false;
  for (const fs::path& part : name)
    if (part == ".." || part == "." || part.empty()) return false;
  return true;
}

/// Writes one file of an archive, piece by piece. `left` is the number of bytes that may still be written; it
/// counts down over all files.
Error takeOut(archive* in, archive_entry* entry, const std::string& path, const fs::path& target, uint64_t& left) {
  std::error_code failed;
  fs::create_directories(target.parent_path(), failed);
  const Descriptor out(files::openLog(target.string()));
  if (out < 0) return files::systemError(target.string(), errno);
  struct stat state{};
  if (archive_entry_perm(entry) & S_IXUSR && ::fstat(out, &state) == 0)  // whoever may read it may run it
    ::fchmod(out, (state.st_mode | (state.st_mode & 0444) >> 2) & 0777);
  // The size that a header states is not trusted; bytes are counted as they come.
  const void* piece = nullptr;
  size_t size = 0;
  la_int64_t offset = 0, at = 0;
  int code = ARCHIVE_OK;
  while ((code = archive_read_data_block(in, &piece, &size, &offset)) == ARCHIVE_OK) {
    if (offset != at) return failure("{}: contains a sparse file", path);
    if (size > left) return failure("{}: contains more than expc unpacks from a bundle", path);
    left -= size;
    at += la_int64_t(size);
    if (const int error = files::writeAll(out, {static_cast<const char*>(piece), size}))
      return files::systemError(target.string(), error);
  }
  return code == ARCHIVE_EOF ? Error::success() : errorOf(path, in);
}

}  // namespace

Expected<std::set<std::string>> filesBelow(const std::string& folder) {
  std::set<std::string> names;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    // A link in the folder could point anywhere, so it is not followed.
    if (at->is_regular_file(failed) && !at->is_symlink()) names.insert(at->path().lexically_relative(folder).string());
  if (failed) return failure("{}: {}", folder, failed.message());
  return names;
}

Error pack(const std::string& folder, const std::string& path) {
  auto names = TRY(filesBelow(folder));
  if (files::isThere(path)) return failure("{} exists; name a new file", path);
  return files::writeBy(path, [&](const std::string& temporary) -> Error {
    const auto names_as_they_are = utf8Names();
    const Archive out(archive_write_new(), archive_write_free);
    if (archive_write_set_format_pax_restricted(out.get()) != ARCHIVE_OK ||
        archive_write_add_filter_zstd(out.get()) != ARCHIVE_OK)
      return errorOf(path, out.get());
    if (archive_write_open_filename(out.get(), temporary.c_str()) != ARCHIVE_OK)
      return files::systemError(path, archive_errno(out.get()));
    for (const std::string& name : names) TRY(add(out.get(), path, folder, name));
    return archive_write_close(out.get()) == ARCHIVE_OK ? Error::success() : errorOf(path, out.get());
  });
}

Error unpack(const std::string& path, const std::string& folder) {
  const auto names_as_they_are = utf8Names();
  std::error_code failed;
  const uint64_t size = fs::is_regular_file(path, failed) ? fs::file_size(path, failed) : 0;
  if (size == 0) return failure("{}: is empty or not a file", path);
  const Archive in(archive_read_new(), archive_read_free);
  if (archive_read_support_format_tar(in.get()) != ARCHIVE_OK ||
      archive_read_support_filter_zstd(in.get()) != ARCHIVE_OK ||
      archive_read_open_filename(in.get(), path.c_str(), 1 << 16) != ARCHIVE_OK)
    return errorOf(path, in.get());
  std::set<std::string> seen;  // files and the folders above them
  uint64_t left = kMostBytes + kMostPacked * size;
  archive_entry* entry = nullptr;
  // Each folder above a file counts too, once: a deep path makes many of them.
  int code = ARCHIVE_OK;
  while ((code = archive_read_next_header(in.get(), &entry)) == ARCHIVE_OK) {
    const char* named = archive_entry_pathname(entry);
    const std::string name = named ? named : "";
    const bool plain = archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry);
    if (!plain || !staysInside(name) || !seen.insert(name).second)
      return failure("{}: contains '{}', which is not a plain file of a bundle", path, name.substr(0, 200));
    for (fs::path above = fs::path(name).parent_path(); !above.empty() && seen.insert(above / "").second;)
      above = above.parent_path();
    if (seen.size() > kMostEntries + size / kLeastOfEntry)
      return failure("{}: contains more files and folders than a bundle of its size can have", path);
    TRY(takeOut(in.get(), entry, path, fs::path(folder) / name, left));
  }
  return code == ARCHIVE_EOF ? Error::success() : errorOf(path, in.get());
}

Expected<std::string> digestOf(const std::string& path) {
  auto content = TRY(files::read(path));
  llvm::BLAKE3 hasher;
  hasher.update(content->getBuffer());
  return llvm::toHex(hasher.final<32>(), /*LowerCase=*/true);
}

}  // namespace expc::bundle
