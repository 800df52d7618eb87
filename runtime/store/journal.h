#pragma once

// Journals of a results folder: append-only files, one for each writer, that record what happened. Lines come in and go
// out as text; their meaning is left to store.h.

#include <aio.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/store/entry.h"

namespace expc::store {

inline constexpr std::string_view kJournalFolder = "journal";

/// One journal as it is on disk.
struct JournalFile {
  std::string name;      // "000007.jsonl"
  uint64_t epoch = 0;    // 7
  uint64_t bytes = 0;    // that count: whole lines, and none behind what a later journal sealed
  uint64_t ignored = 0;  // bytes behind these: a line that was cut, or what came too late
};

/// The path of a folder's first journal, whatever is in it; "" of a folder without any.
std::string firstJournal(const std::string& folder);
/// How the text of each begins.
inline constexpr std::string_view kJournalMark = "{\"entry\":\"opened\",";

/// A line that was not taken, and why.
struct DamagedLine {
  std::string journal;
  uint64_t line = 0;  // from 1; 0: of no single line
  std::string why;

  /// "000007.jsonl line 12: has no checksum at its end".
  std::string text() const;
};

/// The journals of a folder.
struct Journals {
  std::vector<JournalFile> files;    // in the order of their epochs, without those that a later one replaced
  std::set<std::string> replaced;    // the names of these
  std::vector<DamagedLine> missing;  // those that are not there although a later one counts on them
};

/// A folder without any has none. Errors: the folder cannot be read, a journal is no regular file or shorter than it
/// was, its first line is of another version, or damaged where no later one stands in for it.
llvm::Expected<Journals> listJournals(const std::string& folder);

/// Calls `take` for each entry of a journal up to `journal.bytes`. Damaged lines are left out and told; the error is
/// that of the file, or `take`'s.
llvm::Error readJournal(const std::string& folder, const JournalFile& journal,
                        llvm::function_ref<llvm::Error(Entry&&)> take, std::vector<DamagedLine>& damaged);

/// When an entry is on the disk, with all before it: at some time, once awaitSync returns, or when append returns.
enum class OnDisk { Sometime, WhenAwaited, Now };

/// The journal of the one who holds the lease.
class JournalWriter {
 public:
  /// From when on a new journal is there for others: at once, or as a whole when it is published, then also in the
  /// place of those before it. One that is never published is gone with its writer; what is left of one that was
  /// killed, the next writer removes.
  enum class Appears { AtOnce, Whole, InsteadOfOthers };

  JournalWriter(const JournalWriter&) = delete;
  ~JournalWriter();

  /// Makes the next journal of the folder, which seals those before it. `store` is the folder's identity if it has none
  /// yet. An error too when another writer made the same one at this moment.
  static llvm::Expected<std::unique_ptr<JournalWriter>> create(const std::string& folder,
                                                               const std::vector<JournalFile>& before,
                                                               std::string store, Appears appears);
  /// Whether the file's name no longer leads to all lines: somebody removed, replaced or cut the file, or moved the
  /// folder.
  bool isLost() const;
  /// Whether no name leads to the file any more.
  bool isRemoved() const;
  /// Writes all added lines into a journal with the next free number, which replaces this one.
  llvm::Expected<std::unique_ptr<JournalWriter>> again(const std::vector<JournalFile>& before, std::string store) const;
  /// Writes all added lines into a new results folder where temporary files go. Returns its path.
  llvm::Expected<std::string> keepElsewhere() const;
  /// All that was added is durable, and there from now on.
  llvm::Error publish();

  /// Adds a line. After an error the journal ends with its last whole line.
  llvm::Error append(const Entry& entry, OnDisk when);
  /// All that was added is on the disk.
  llvm::Error sync();
  /// Waits for the entry that was to be on the disk when awaited; at once where there is none. After an error the
  /// journal ends before that entry.
  llvm::Error awaitSync();
  /// The file as it is on disk now.
  const JournalFile& file() const { return file_; }

 private:
  JournalWriter() = default;
  static llvm::Expected<std::unique_ptr<JournalWriter>> make(const std::string& folder, Opened opened, bool hidden);
  void beginSync();
  llvm::Error add(llvm::StringRef lines);
  llvm::Error cutTo(const JournalFile& end, int error);

  std::string folder_, path_;
  std::string
      text_;  // all that was added, since the file may be gone when it is missed; of a hidden one its first line
  uint64_t head_ = 0;  // bytes of that
  JournalFile file_, before_sync_;
  bool hidden_ = false;
  std::unique_ptr<aiocb> sync_;  // under way
  int sync_error_ = 0;           // of one that is over
  base::Descriptor fd_;
};

}  // namespace expc::store
