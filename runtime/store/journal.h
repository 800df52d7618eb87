#pragma once

// Journals of a results folder: append-only files, one for each process that writes. Each begins with a line that
// seals the earlier ones, so lines of a writer that lost the folder do not count. Entries go in and come out; their
// meaning is left to store.h.

#include <aio.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/llvm.h"
#include "runtime/store/entry.h"

namespace expc::store {

/// The folder of journals, below a results folder.
inline constexpr std::string_view kJournalFolder = "journal";

/// One journal as it is on disk.
struct JournalFile {
  std::string name;      // "000007.jsonl"
  uint64_t epoch = 0;    // 7
  uint64_t bytes = 0;    // whole lines that count; nothing behind what a later journal sealed
  uint64_t ignored = 0;  // bytes behind these: a line that was cut, or lines that came too late
};

/// The path of a folder's first journal, whatever it holds; "" for a folder without any.
std::string firstJournal(const std::string& folder);
/// How the text of each journal begins; other rooms recognise the file by it.
inline constexpr std::string_view kJournalMark = "{\"entry\":\"opened\",";

/// A line that was left out, and the reason.
struct DamagedLine {
  std::string journal;
  uint64_t line = 0;  // from 1; 0: not a single line
  std::string why;

  /// "000007.jsonl line 12: has no checksum at its end".
  std::string text() const;
};

/// The journals of a folder, in the state that their first lines describe.
struct Journals {
  std::vector<JournalFile> files;    // by epoch, without those that a later one replaced
  std::set<std::string> replaced;    // names of those left out
  std::vector<DamagedLine> missing;  // files that are gone although a later journal counts on them
};

/// Lists a folder's journals; a folder without any has none. Errors: the folder cannot be read; a journal is not a
/// regular file or is shorter than it was; its first line has an unknown version, or is damaged and no later
/// journal seals it.
Expected<Journals> listJournals(const std::string& folder);

/// Calls `take` for each entry of a journal up to `journal.bytes`. Damaged lines are left out and added to
/// `damaged`. The error is the file's, or that of `take`.
Error readJournal(const std::string& folder, const JournalFile& journal, function_ref<Error(Entry&&)> take,
                  std::vector<DamagedLine>& damaged);

/// When an entry, with all before it, must be on the disk: at some time, once awaitSync returns, or when append
/// returns.
enum class OnDisk { Sometime, WhenAwaited, Now };

/// The journal of the process that holds the lease. Not thread-safe. It keeps all its lines in memory, so that it
/// can write them again if somebody removes the file.
class JournalWriter {
 public:
  /// When a new journal becomes visible: at once; as a whole when it is published; or also in the place of the
  /// earlier ones. A hidden journal that is never published is removed with its writer; if the writer was killed,
  /// the next one removes it.
  enum class Appears { AtOnce, Whole, InsteadOfOthers };

  JournalWriter(const JournalWriter&) = delete;
  ~JournalWriter();

  /// Makes the next journal of the folder, which seals those in `before`. `store` is the store's name. Fails if
  /// another writer makes the same journal at this moment.
  static Expected<std::unique_ptr<JournalWriter>> create(const std::string& folder,
                                                         const std::vector<JournalFile>& before, std::string store,
                                                         Appears appears);
  /// Whether the file's name no longer leads to all its lines: somebody removed, replaced or cut the file, or moved
  /// the folder.
  bool isLost() const;
  /// Whether the file has no name any more.
  bool isRemoved() const;
  /// Writes all lines into a new journal with the next free number, which replaces this one.
  Expected<std::unique_ptr<JournalWriter>> again(const std::vector<JournalFile>& before, std::string store) const;
  /// Writes all lines into a new results folder in the folder for temporary files. Returns its path.
  Expected<std::string> keepElsewhere() const;
  /// Makes a hidden journal durable and visible. Nothing if that fails.
  Error publish();

  /// Adds a line. After an error the journal ends with its last whole line.
  Error append(const Entry& entry, OnDisk when);
  /// Makes all lines durable.
  Error sync();
  /// Waits for the entry that was appended with OnDisk::WhenAwaited; returns at once if there is none. After an
  /// error the journal ends before that entry.
  Error awaitSync();
  /// The file as it is on disk.
  const JournalFile& file() const { return file_; }

 private:
  JournalWriter() = default;
  static Expected<std::unique_ptr<JournalWriter>> make(const std::string& folder, Opened opened, bool hidden);
  void beginSync();
  Error add(StringRef lines);
  Error cutTo(const JournalFile& end, int error);

  std::string folder_, path_;
  std::string
      text_;  // all added lines, because somebody may remove the file before we look; if hidden, only the first one
  uint64_t head_ = 0;  // bytes of the first line
  JournalFile file_, before_sync_;
  bool hidden_ = false;
  std::unique_ptr<aiocb> sync_;  // a sync that is under way
  int sync_error_ = 0;           // the error of a sync that is over
  Descriptor fd_;
};

}  // namespace expc::store
