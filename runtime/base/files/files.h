#pragma once

// The one way in which files are read, written and removed. A name from a user or a stranger may be a device, a
// pipe or a link: we wait for none of these, replace none, and read no more than is there. Files are written whole
// or not at all.

#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/llvm.h"

namespace expc::files {

/// Most bytes that are read of a file that a person writes, and of one that a program writes.
inline constexpr uint64_t kMostByHand = 64ull << 20, kMost = 4ull << 30;

/// Whether links are followed. In a folder of strangers a link could show them any file of this machine, or write
/// over it.
enum class Links { Followed, Refused };

/// Whether something has this name, including a link to nowhere.
bool isThere(const std::string& path);

/// The content of a regular file, copied into memory. Errors name the file and carry the system's code: it is not a
/// regular file, has more than `most` bytes, or cannot be read.
Expected<std::unique_ptr<llvm::MemoryBuffer>> read(const std::string& path, uint64_t most = kMost,
                                                   Links links = Links::Followed);
/// The content of a file that nobody shortens while it is used. It may be mapped, which is less work if it is
/// large. A mapped file that gets shorter crashes its reader.
Expected<std::unique_ptr<llvm::MemoryBuffer>> map(const std::string& path, uint64_t most = UINT64_MAX);
/// Reads a file of any size piece by piece; it may change meanwhile.
Error readPieces(const std::string& path, function_ref<Error(StringRef)> take);
/// At most the last `bytes` bytes of a file, from the beginning of a line. The file may still be written to. "" for
/// a link, and for anything but a regular file.
std::string tail(const std::string& path, uint64_t bytes);
/// The last 20 lines of such a file, at most 4 KiB, printable.
std::string lastWords(const std::string& path);

/// A hidden name beside `path` that nothing else has, for a file or folder that is made there and moved later.
/// Temporary files that a killed process left in the same folder are removed first.
std::string temporaryBeside(const std::string& path);
/// Whether a file's name is such a temporary one.
bool isTemporary(StringRef name);

/// Renames a file or folder, replacing a file with that name, and makes the new name durable.
Error move(const std::string& from, const std::string& to);

/// Makes a file whole or not at all, even if the machine crashes. `make` writes it under a temporary name; it is
/// then moved to `path`. A regular file that was there is replaced, and its permissions are kept. Anything else
/// with that name (a device, a pipe, a link) stays and is written to; with `Links::Refused` a link is replaced.
/// After an error the old content stays, and nothing is left beside it.
Error writeBy(const std::string& path, function_ref<Error(const std::string& temporary)> make,
              Links links = Links::Followed);
/// writeBy() for content that comes from a stream, or is a text.
Error writeStream(const std::string& path, function_ref<void(llvm::raw_ostream& out)> make,
                  Links links = Links::Followed);
Error write(const std::string& path, StringRef text, Links links = Links::Followed);

/// Opens a file to append to, for output that is written bit by bit; it begins anew or goes on. Only a regular file
/// with a single name is written to. Anything else with that name is removed, including another user's log that we
/// may not write. Returns -1, with errno, on an error.
enum class Log { BeginsAnew, GoesOn };
int openLog(const std::string& path, Log log = Log::BeginsAnew);

/// Writes all of `text`, also after interruptions. Returns 0, or the system's error code.
int writeAll(int file, StringRef text);

/// An error with the system's words for a code: "PATH: No space left on device".
Error systemError(const std::string& path, int code);

/// Calls `take` for each regular file below a folder, except temporary ones; or for `path` itself if it is a file.
/// Links are followed, except a link to a folder that contains it, which would never end. More than 100,000 links
/// to folders are an error.
Error eachFile(const std::string& path, function_ref<Error(const std::string& file)> take);

/// Removes a file, or a folder with everything in it, also if it was made read-only. Links are removed, not
/// followed, and nothing is removed across a mount point. Returns "", or the first thing that stays and the reason:
/// "PATH: …".
std::string removeTree(const std::string& path);
/// Empties a folder in the same way; the folder stays.
std::string clearFolder(const std::string& path);

/// A new folder that only this user may enter. It is removed with this object. If the process is killed, the next
/// one that makes something temporary in the same place removes it (temporaryBeside).
class TemporaryFolder {
 public:
  /// Makes the folder in `place`, or in the folder for temporary files.
  explicit TemporaryFolder(const std::string& place = "");
  ~TemporaryFolder() { removeTree(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  /// "" if it could not be made; errno says why.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Recognises a file that is not text by its first bytes, and says how to get text: "gzip data: unpack it with
/// gunzip". "" for UTF-8 text and for unknown forms.
std::string_view formOf(StringRef bytes);

/// map() for a file that should be text; another form is an error (formOf). If the file cannot be read, the error
/// ends with `way_out`.
Expected<std::unique_ptr<llvm::MemoryBuffer>> mapText(const std::string& path, uint64_t most, StringRef way_out);

}  // namespace expc::files
