// Every file is opened first, without waiting and without becoming a terminal's owner, and then looked at (fstat):
// between looking at a name and opening it somebody could replace the file. Writing goes to a temporary file beside
// the target, which is synchronised and renamed, so that readers see the old content or the new.

#include "runtime/base/files/files.h"

#include <fcntl.h>
#include <llvm/ADT/ScopeExit.h>
#include <llvm/Support/FileSystem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/printable.h"
#include "runtime/base/process.h"

namespace expc::files {
namespace {

namespace fs = std::filesystem;

/// An error about a file, with a system's code and our words.
Error refused(const std::string& path, int code, std::string_view why) {
  return llvm::createStringError(std::error_code(code, std::generic_category()), fmt::format("{}: {}", path, why));
}

/// Writes a file or folder to the disk. Returns 0, or the system's error. A file system that cannot synchronise
/// (EINVAL) is accepted.
int synchronise(const std::string& path, int flags) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  return file >= 0 && (::fsync(file) == 0 || errno == EINVAL) ? 0 : errno;
}

/// Writes the content of a temporary file to something that is not a regular file, such as a pipe or a device.
Error pour(const std::string& temporary, const std::string& path) {
  auto content = TRY(read(temporary, UINT64_MAX));
  // Do not wait for a pipe that nobody reads.
  const int out = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
  if (out < 0 && errno == ENXIO) return refused(path, ENXIO, "is a pipe without a reader, or a socket");
  if (out < 0) return systemError(path, errno);
  // From here on waiting is right: the reader is there, and may be slow.
  ::fcntl(out, F_SETFL, ::fcntl(out, F_GETFL) & ~O_NONBLOCK);
  int code = writeAll(out, content->getBuffer());
  if (::close(out) != 0 && code == 0) code = errno;
  return code == 0 ? Error::success() : systemError(path, code);
}

constexpr std::string_view kTemporary = ".expc-", kTemporaryEnd = ".tmp";

/// Removes temporary files and folders that killed processes left in a folder. Done once per folder, since many
/// files may be written into one. Files of another boot, machine or container stay: their makers may be alive.
void removeLeft(const fs::path& folder) {
  static std::mutex mutex;
  static std::set<fs::path> seen;
  const std::lock_guard lock(mutex);
  if (!seen.insert(folder).second || base::bootId().empty()) return;
  std::error_code failed;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    const std::string name = at->path().filename().string();
    StringRef rest = name;
    int64_t pid = 0;
    uint64_t started = 0;
    const bool ours = isTemporary(name) && rest.consume_front(kTemporary) && rest.consume_front(base::pidMark()) &&
                      !rest.consumeInteger(10, pid) && rest.consume_front("-") && !rest.consumeInteger(10, started);
    if (!ours) continue;
    const base::Process process = base::processOf(pid);
    if (!process.runs() || process.started != started) removeTree(at->path().string());
  }
}

/// Opens a file without waiting for it (a pipe, a terminal).
int openForReading(const std::string& path, Links links) {
  return ::open(path.c_str(),
                O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (links == Links::Refused ? O_NOFOLLOW : 0));
}

/// An open regular file and its size.
struct Opened {
  Descriptor descriptor;
  uint64_t size = 0;
};

/// Opens a regular file of at most `most` bytes; the errors are those of read().
Expected<Opened> openRegular(const std::string& path, uint64_t most, Links links) {
  Opened file{Descriptor(openForReading(path, links))};
  const auto none = [&] { return refused(path, EINVAL, "is a device, a pipe or a socket, and not a regular file"); };
  if (file.descriptor < 0 && errno == ELOOP && links == Links::Refused)
    return refused(path, EINVAL, "is a link, and not a regular file");
  if (file.descriptor < 0 && errno == ENXIO) return none();
  if (file.descriptor < 0) return systemError(path, errno);
  struct stat state{};
  if (::fstat(file.descriptor, &state) != 0) return systemError(path, errno);
  if (S_ISDIR(state.st_mode)) return systemError(path, EISDIR);
  if (!S_ISREG(state.st_mode)) return none();
  file.size = uint64_t(state.st_size);
  if (file.size <= most) return file;
  return refused(path, EFBIG, fmt::format("has {} bytes; at most {} are allowed", file.size, most));
}

/// The content of a file. `changes`: somebody may shorten it while it is read, so it is copied and not mapped.
Expected<std::unique_ptr<llvm::MemoryBuffer>> readOpened(const std::string& path, uint64_t most, Links links,
                                                         bool changes) {
  auto file = TRY(openRegular(path, most, links));
  auto buffer =
      llvm::MemoryBuffer::getOpenFile(file.descriptor, path, file.size, /*RequiresNullTerminator=*/false, changes);
  if (!buffer) return systemError(path, buffer.getError().value());
  return std::move(*buffer);
}

}  // namespace

std::string temporaryBeside(const std::string& path) {
  static std::atomic<unsigned> count = 0;
  const fs::path folder = fs::path(path).parent_path();
  removeLeft(folder);
  std::string name;
  // The name must not contain that of the target, which may be as long as a name can be.
  do
    name = (folder / fmt::format("{}{}{}-{}-{}{}", kTemporary, base::pidMark(), ::getpid(),
                                 base::processOf(::getpid()).started, count++, kTemporaryEnd))
               .string();
  while (isThere(name));
  return name;
}

bool isTemporary(StringRef name) { return name.starts_with(kTemporary) && name.ends_with(kTemporaryEnd); }

bool isThere(const std::string& path) {
  struct stat state{};
  return ::lstat(path.c_str(), &state) == 0;
}

Error systemError(const std::string& path, int code) { return refused(path, code, std::strerror(code)); }

int writeAll(int file, StringRef text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text = text.drop_front(size_t(written));
  }
  return 0;
}

Expected<std::unique_ptr<llvm::MemoryBuffer>> read(const std::string& path, uint64_t most, Links links) {
  return readOpened(path, most, links, /*changes=*/true);
}

Expected<std::unique_ptr<llvm::MemoryBuffer>> map(const std::string& path, uint64_t most) {
  return readOpened(path, most, Links::Followed, /*changes=*/false);
}

Error readPieces(const std::string& path, function_ref<Error(StringRef)> take) {
  auto file = TRY(openRegular(path, UINT64_MAX, Links::Followed));
  std::string piece(1 << 20, '\0');
  while (true) {
    const ssize_t got = ::read(file.descriptor, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return systemError(path, errno);
    if (got == 0) return Error::success();
    TRY(take(StringRef(piece).take_front(size_t(got))));
  }
}

std::string tail(const std::string& path, uint64_t bytes) {
  const auto file = expectedToOptional(openRegular(path, UINT64_MAX, Links::Refused));
  if (!file) return "";
  std::string text(std::min(file->size, bytes), '\0');
  const ssize_t got = ::pread(file->descriptor, text.data(), text.size(), off_t(file->size - text.size()));
  text.resize(size_t(std::max<ssize_t>(got, 0)));
  if (file->size <= bytes) return text;
  // A cut inside one long line moves on to the beginning of a character.
  const size_t line = text.find('\n');
  const auto character = std::ranges::find_if(text, [](char c) { return (c & 0xc0) != 0x80; });
  text.erase(0, line != std::string::npos ? line + 1 : size_t(character - text.begin()));
  return text;
}

std::string lastWords(const std::string& path) {
  constexpr uint64_t kBytes = 4096;
  constexpr int kLines = 20;
  std::string text = tail(path, kBytes);
  // Empty lines at the end say nothing.
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  size_t begin = text.size();
  for (int line = 0; line < kLines && begin != std::string::npos && begin > 0; ++line)
    begin = text.rfind('\n', begin - 1);
  if (begin != std::string::npos && begin > 0) text.erase(0, begin + 1);
  return base::printableLines(text);
}

/// Walks the tree with the standard iterator, which does not detect circles of links: `above` holds the folders
/// that the current entry lies in.
Error eachFile(const std::string& path, function_ref<Error(const std::string& file)> take) {
  constexpr unsigned kMostLinks = 100'000;
  using Identity = std::pair<dev_t, ino_t>;
  struct stat state{};
  if (::stat(path.c_str(), &state) != 0) return systemError(path, errno);
  if (!S_ISDIR(state.st_mode)) return take(path);
  std::vector<Identity> above{{state.st_dev, state.st_ino}};  // the folders that an entry lies in
  unsigned links = 0;
  std::error_code failed;
  fs::recursive_directory_iterator at(path, fs::directory_options::follow_directory_symlink, failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    const bool temporary = isTemporary(at->path().filename().string());
    if (temporary) at.disable_recursion_pending();
    if (temporary || ::stat(at->path().c_str(), &state) != 0) continue;  // temporary, or a link to nowhere
    if (S_ISREG(state.st_mode)) TRY(take(at->path().string()));
    if (!S_ISDIR(state.st_mode)) continue;
    above.resize(size_t(at.depth()) + 1);
    const Identity folder{state.st_dev, state.st_ino};
    if (std::ranges::count(above, folder) > 0) at.disable_recursion_pending();
    above.push_back(folder);
    if (at->is_symlink(failed) && ++links > kMostLinks)
      return failure("{}: has more than {} links to folders", path, kMostLinks);
  }
  return failed ? systemError(path, failed.value()) : Error::success();
}

int openLog(const std::string& path, Log log) {
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
  const int file = ::open(path.c_str(), flags, 0666);
  struct stat state{};
  // A second name (st_nlink) may lie anywhere: writing here would change that file.
  if (file >= 0 && ::fstat(file, &state) == 0 && S_ISREG(state.st_mode) && state.st_nlink == 1 &&
      (log == Log::GoesOn || state.st_size == 0 || ::ftruncate(file, 0) == 0) && ::fcntl(file, F_SETFL, O_APPEND) == 0)
    return file;
  const int error = errno;
  if (file >= 0) ::close(file);
  // Something of another kind stands there, or another user's file. The name is ours to use, so remove it and make
  // a new file.
  const bool in_the_way = file >= 0 || error == ELOOP || error == ENXIO || error == EACCES;
  if (in_the_way && ::unlink(path.c_str()) == 0) return ::open(path.c_str(), flags | O_EXCL, 0666);
  errno = error;
  return -1;
}

Error move(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return systemError(to, errno);
  // The file is in place; only its durability may suffer if this fails.
  const fs::path folder = fs::path(to).parent_path();
  synchronise(folder.empty() ? "." : folder.string(), O_DIRECTORY);
  return Error::success();
}

Error writeBy(const std::string& path, function_ref<Error(const std::string& temporary)> make, Links links) {
  struct stat there{};
  const bool exists = ::lstat(path.c_str(), &there) == 0;
  if (!exists && errno != ENOENT) return systemError(path, errno);
  if (exists && S_ISDIR(there.st_mode)) return systemError(path, EISDIR);
  // Devices, pipes and links keep their place: the content is poured into them.
  const bool in_place = exists && !S_ISREG(there.st_mode) && !(links == Links::Refused && S_ISLNK(there.st_mode));
  std::error_code none;
  const std::string temporary = temporaryBeside(in_place ? fs::temp_directory_path(none) / "" : fs::path(path));
  const auto removed = llvm::make_scope_exit([&] { ::unlink(temporary.c_str()); });
  TRY(make(temporary));
  if (in_place) return pour(temporary, path);
  if (exists && S_ISREG(there.st_mode)) ::chmod(temporary.c_str(), there.st_mode & 07777);
  if (const int code = synchronise(temporary, 0)) return systemError(path, code);
  return move(temporary, path);
}

Error writeStream(const std::string& path, function_ref<void(llvm::raw_ostream& out)> make, Links links) {
  const auto into = [&](const std::string& temporary) -> Error {
    std::error_code code;
    llvm::raw_fd_ostream out(temporary, code, llvm::sys::fs::CD_CreateNew);
    // A stream that is destroyed with an error would end the program, so the error is taken out.
    if (code) return systemError(path, code.value());
    make(out);
    out.close();
    code = out.error();
    out.clear_error();
    return code ? systemError(path, code.value()) : Error::success();
  };
  return writeBy(path, into, links);
}

Error write(const std::string& path, StringRef text, Links links) {
  return writeStream(path, [&](llvm::raw_ostream& out) { out << text; }, links);
}

TemporaryFolder::TemporaryFolder(const std::string& place) {
  std::error_code none;
  const fs::path folder = place.empty() ? fs::temp_directory_path(none) : fs::path(place);
  int code = 0;
  // Another process may have taken the name in between.
  do {
    path_ = temporaryBeside((none ? "/tmp" : folder) / "");
    code = ::mkdir(path_.c_str(), S_IRWXU) == 0 ? 0 : errno;
  } while (code == EEXIST);
  if (code != 0) path_.clear();
  errno = code;
}

std::string_view formOf(StringRef bytes) {
  constexpr std::string_view kUtf16 = "UTF-16 text: convert it with iconv -f UTF-16 -t UTF-8";
  constexpr std::string_view kPage = "an HTML page, as a download without a login gives";
  constexpr std::pair<llvm::StringLiteral, std::string_view> kForms[] = {
      {"\x1f\x8b", "gzip data: unpack it with gunzip"},
      {"\x28\xb5\x2f\xfd", "zstd data: unpack it with unzstd"},
      {"\xfd\x37zXZ", "xz data: unpack it with unxz"},
      {"version https://git-lfs", "a Git LFS pointer and not the file itself: run git lfs pull"},
      {"PK\3\4", "a zip archive; if torch.save made it, it contains a pickle: save with safetensors.torch.save_file"},
      {"PAR1\x15", "a Parquet file: convert it to CSV or JSONL"},
      {"\xff\xfe", kUtf16},
      {"\xfe\xff", kUtf16},
      {"<!DOCTYPE", kPage},
      {"<!doctype", kPage},
      {"<html", kPage},
  };
  // A pickle begins with the byte 0x80 and its protocol, from 2 to 5; text in UTF-8 never begins so.
  if (bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5 && bytes[2] != 0)
    return "a pickle, which could run any code and is never loaded: save with safetensors.torch.save_file";
  for (const auto& [begins, name] : kForms)
    if (bytes.starts_with(begins)) return name;
  return "";
}

Expected<std::unique_ptr<llvm::MemoryBuffer>> mapText(const std::string& path, uint64_t most, StringRef way_out) {
  auto buffer = map(path, most);
  if (!buffer) return failure("{}; {}", buffer.takeError(), way_out);
  if (const auto form = formOf((*buffer)->getBuffer()); !form.empty()) return failure("{}: it is {}", path, form);
  return buffer;
}

}  // namespace expc::files
