#pragma once

// The one way in which files are read, written and removed. What a user or a stranger names may be a device, a pipe or
// a link: none of these is waited for, none is replaced, and no more is read than there is.

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace expc::files {

/// Of a file that a person writes, and of one that a program does.
inline constexpr uint64_t kMostByHand = 64ull << 20, kMost = 4ull << 30;

/// A link in a folder of strangers would show them any file of this machine, or write over it.
enum class Links { Followed, Refused };

/// Whether something has this name, also a link to nowhere.
bool isThere(const std::string& path);

/// A regular file's content. Errors name the file, and carry the system's code: it is none, it has more than `most`
/// bytes, or it cannot be read.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> read(const std::string& path, uint64_t most = kMost,
                                                         Links links = Links::Followed);
/// The same of a file that nobody cuts meanwhile: mapped where that is less work.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> map(const std::string& path, uint64_t most = UINT64_MAX);
/// One of any size, which may be cut meanwhile, piece by piece.
llvm::Error readPieces(const std::string& path, llvm::function_ref<llvm::Error(llvm::StringRef)> take);
/// At most so much of its end, from the beginning of a line on, of a file that somebody may be writing; "" of what is
/// no regular file, or a link.
std::string tail(const std::string& path, uint64_t bytes);
/// The last 20 lines of such a file, 4 KiB at most, printable.
std::string lastWords(const std::string& path);

/// A hidden name beside this one that nothing else has, under which a file or folder is made. What a process that was
/// killed left under such a name is nobody's data, and is removed here by the next one that asks for a name there.
std::string temporaryBeside(const std::string& path);
bool isTemporary(llvm::StringRef name);

/// Gives a file or folder another name, also over a file that has it, and puts that on the disk.
llvm::Error move(const std::string& from, const std::string& to);

/// Makes a file whole or not at all, also after a crash of the machine: `make` writes it under the name that it is
/// given, and it is then moved to `path`, over a regular file that may be there, whose permissions it keeps. Whatever
/// else has the name (a device, a pipe, a link) stays, and is written to; with `Links::Refused` a link is replaced. On
/// an error what was there stays, and nothing is left beside it.
llvm::Error writeBy(const std::string& path, llvm::function_ref<llvm::Error(const std::string& temporary)> make,
                    Links links = Links::Followed);
llvm::Error writeStream(const std::string& path, llvm::function_ref<void(llvm::raw_ostream& out)> make,
                        Links links = Links::Followed);
llvm::Error write(const std::string& path, llvm::StringRef text, Links links = Links::Followed);

/// Opens a file to add to, as what writes bit by bit does, and from which it begins anew or goes on. Nothing but a
/// regular file without another name is written to: what else stands there is removed, and so is another user's log
/// that may not be written. -1 and errno on an error.
enum class Log { BeginsAnew, GoesOn };
int openLog(const std::string& path, Log log = Log::BeginsAnew);

/// Writes all of it; 0, or the system's error.
int writeAll(int file, llvm::StringRef text);

/// "PATH: No space left on device".
llvm::Error systemError(const std::string& path, int code);

/// Calls `take` for each regular file below a folder that is not temporary, or for `path` where it is no folder. Links
/// are followed, but for one to a folder that it lies in, which holds nothing new; too many of them are an error.
llvm::Error eachFile(const std::string& path, llvm::function_ref<llvm::Error(const std::string& file)> take);

/// Removes a file, or a folder with all that is in it, also what its maker left read-only. Links are removed, not
/// followed, and nothing is removed across a mount point. "", or the first thing that stays and why: "PATH: …".
std::string removeTree(const std::string& path);
/// Removes all that is in a folder in this way; the folder stays.
std::string clearFolder(const std::string& path);

/// A new folder that only this user may enter. It is removed with this object; if the process is killed, by whoever
/// makes something temporary in the same place next (temporaryBeside).
class TemporaryFolder {
 public:
  /// Creates the folder in `place`, or else where temporary files lie.
  explicit TemporaryFolder(const std::string& place = "");
  ~TemporaryFolder() { removeTree(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  /// "" where it could not be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The form of a file by its first bytes, and the way to the wanted one; "" for text in UTF-8 and for all unknown
/// forms.
std::string_view formOf(llvm::StringRef bytes);

/// map() of what should be text. Where there is no such file the error ends with `way_out`.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> mapText(const std::string& path, uint64_t most,
                                                            llvm::StringRef way_out);

}  // namespace expc::files
