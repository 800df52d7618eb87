#include "runtime/store/maintenance.h"

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/store/store.h"

namespace expc::store {

llvm::Expected<Verified> verify(const std::string& folder) {
  auto journals = listJournals(folder);
  if (!journals) return journals.takeError();
  Verified found;
  std::vector<DamagedLine> damaged;
  auto contents = readStore(folder, *journals, damaged);
  if (!contents) return contents.takeError();
  found.journals = journals->size();
  for (const DamagedLine& line : damaged) found.damage.push_back(line.text());
  for (const JournalFile& journal : *journals)
    if (journal.ignored > 0)
      found.notes.push_back(
          fmt::format("{}: {} bytes at its end do not count: a line that was cut, or written after "
                      "another process had taken the folder over",
                      journal.name, journal.ignored));
  found.sessions = contents->sessions.size();
  found.runs = contents->runs.size();
  found.blocks = contents->blocks.size();
  found.trials = contents->trials.size();
  return found;
}

llvm::Expected<Compacted> compact(const std::string& folder, std::vector<std::string>& messages) {
  if (!isStore(folder)) return noResults(folder);
  auto store = Store::openForWriting(folder, messages);
  if (!store) return store.takeError();
  if (auto error = store->close()) return error;  // so that what it had to add is in a journal too
  store = Store::openForWriting(folder, messages);
  if (!store) return store.takeError();
  const std::vector<JournalFile>& journals = store->journals();
  Compacted done;
  done.journals = journals.size();
  auto made = JournalWriter::create(folder, journals, store->name(), JournalWriter::Appears::InsteadOfOthers);
  if (!made) return made.takeError();
  const std::unique_ptr<JournalWriter> writer = std::move(*made);
  std::vector<DamagedLine> damaged;
  std::set<std::string> plans;
  for (const JournalFile& journal : journals) {
    done.bytes_before += journal.bytes;
    auto error = readJournal(
        folder, journal,
        [&](Entry&& entry) -> llvm::Error {
          if (std::holds_alternative<Opened>(entry)) return llvm::Error::success();
          if (const auto* plan = std::get_if<PlanText>(&entry); plan && !plans.insert(plan->hash).second)
            return llvm::Error::success();
          return writer->append(entry, OnDisk::Sometime);
        },
        damaged);
    if (error) return error;
  }
  if (!damaged.empty())
    return llvm::createStringError(fmt::format(
        "{}; nothing was changed: put the journals of a backup back, or go on without compacting", damaged[0].text()));
  if (auto error = store->heartbeat()) return error;
  if (auto error = writer->publish()) return error;
  done.bytes_after = writer->file().bytes;
  if (auto error = store->close()) return error;
  // The next writer removes the journals that are replaced. An older expc kept an index of them.
  for (const char* file : {"expc.sqlite", "expc.sqlite-journal"}) unlink(fmt::format("{}/{}", folder, file).c_str());
  store = Store::openForWriting(folder, messages);
  if (!store) return store.takeError();
  if (auto error = store->close()) return error;
  return done;
}

}  // namespace expc::store
