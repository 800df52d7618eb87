#include "runtime/store/maintenance.h"

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/files/files.h"
#include "runtime/store/files.h"
#include "runtime/store/rows.h"
#include "runtime/store/store.h"

namespace expc::store {
namespace {

std::string textOf(const DamagedLine& line) {
  return line.line ? fmt::format("{} line {}: {}", line.journal, line.line, line.why)
                   : fmt::format("{}: {}", line.journal, line.why);
}

/// What is wrong with the index, if anything is.
llvm::Error compareIndex(const std::string& folder, const std::vector<JournalFile>& journals, const Database& truth,
                         Verified& found) {
  const std::string path = folder + "/" + std::string(kDatabaseName);
  found.has_index = access(path.c_str(), F_OK) == 0;
  if (!found.has_index || Lease::isLive(folder)) return llvm::Error::success();
  auto index = Database::openForReading(path);
  auto current = index ? index->isCurrent(journals) : llvm::Expected<bool>(index.takeError());
  if (!current) {
    found.notes.push_back(llvm::toString(current.takeError()));
    return llvm::Error::success();
  }
  if (!*current) return llvm::Error::success();
  auto rows = truth.dump(), held = index->dump();
  if (!rows) return rows.takeError();
  if (!held) return held.takeError();
  found.index_current = *rows == *held;
  if (!found.index_current)
    found.damage.push_back(
        fmt::format("{} says that it holds these journals, and does not: remove it, and it is built "
                    "anew from them",
                    path));
  return llvm::Error::success();
}

llvm::Error countRows(const Database& database, Verified& found) {
  for (const auto& [table, count] : {std::pair("session", &found.sessions), std::pair("run", &found.runs),
                                     std::pair("block", &found.blocks), std::pair("trial_row", &found.trials)}) {
    Statement statement(database.handle(), database.path(), fmt::format("SELECT count(*) FROM {}", table).c_str());
    if (statement.step()) *count = uint64_t(statement.integer(0));
    if (auto error = statement.take()) return error;
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Expected<Verified> verify(const std::string& folder) {
  auto journals = listJournals(folder);
  if (!journals) return journals.takeError();
  Verified found;
  std::vector<DamagedLine> damaged;
  auto truth = readStore(folder, *journals, damaged);
  if (!truth) return truth.takeError();
  found.journals = journals->size();
  for (const DamagedLine& line : damaged) found.damage.push_back(textOf(line));
  for (const JournalFile& journal : *journals)
    if (journal.ignored > 0)
      found.notes.push_back(
          fmt::format("{}: {} bytes at its end do not count: a line that was cut, or written after "
                      "another process had taken the folder over",
                      journal.name, journal.ignored));
  if (auto error = countRows(*truth, found)) return error;
  if (auto error = compareIndex(folder, *journals, *truth, found)) return error;
  return found;
}

llvm::Error exportIndex(const std::string& folder, const std::string& file, std::vector<std::string>& messages) {
  if (files::isThere(file))
    return llvm::createStringError(fmt::format("{}: is there already; name a file that is not", file));
  auto store = Store::openForReading(folder, messages);
  if (!store) return store.takeError();
  return files::writeBy(file, [&](const std::string& temporary) {
    Statement copy(store->database().handle(), file, "VACUUM INTO ?1");
    copy.bind({temporary}).step();
    return copy.take();
  });
}

llvm::Expected<Compacted> compact(const std::string& folder, std::vector<std::string>& messages) {
  if (!isStore(folder)) return noResults(folder);
  auto store = Store::openForWriting(folder, messages);
  if (!store) return store.takeError();
  if (auto error = store->close()) return error;  // so that what it had to add is in a journal too
  store = Store::openForWriting(folder, messages);
  if (!store) return store.takeError();
  const std::vector<JournalFile>& journals = store->journals();
  auto name = store->database().storeName();
  if (!name) return name.takeError();
  Compacted done;
  done.journals = journals.size();
  auto writer = JournalWriter::create(folder, journals, *name, JournalWriter::Appears::InsteadOfOthers);
  if (!writer) return writer.takeError();
  std::vector<DamagedLine> damaged;
  std::set<std::string> plans;
  for (const JournalFile& journal : journals) {
    done.bytes_before += journal.bytes;
    auto error = readJournal(
        folder, journal, 0,
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
        "{}; nothing was changed: put the journals of a backup back, or go on without compacting", textOf(damaged[0])));
  if (auto error = store->heartbeat()) return error;
  if (auto error = writer->publish()) return error;
  done.bytes_after = writer->file().bytes;
  if (auto error = store->close()) return error;
  // The next writer removes the journals that are replaced, and builds an index of what is there now.
  store = Store::openForWriting(folder, messages);
  if (!store) return store.takeError();
  if (auto error = store->close()) return error;
  return done;
}

}  // namespace expc::store
