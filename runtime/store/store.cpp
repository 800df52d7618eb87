#include "runtime/store/store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/store/files.h"
#include "runtime/store/spool.h"

namespace expc::store {
namespace {

/// The last expc that read results of before 23 November 2026, which had no journals.
constexpr const char* kLastWithDatabases = "cff9634a";

/// As older expc kept its results, or an index of its journals.
std::string databaseIn(const std::string& folder) { return folder + "/expc.sqlite"; }

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

/// Of a folder without journals: nothing may be begun beside what may be all that is left of measurements.
llvm::Error refuseDatabaseAlone(const std::string& folder) {
  const std::string path = databaseIn(folder);
  if (!exists(path)) return llvm::Error::success();
  return llvm::createStringError(fmt::format(
      "'{0}' lies in a results folder without journals: put '{1}/{2}' back if it was there. Of a folder that "
      "never had one, the expc of commit {3} makes it: `expc store compact --results {1}`. To begin anew, "
      "move the file away",
      path, folder, kJournalFolder, kLastWithDatabases));
}

}  // namespace

llvm::Error noResults(const std::string& folder) {
  return llvm::createStringError(
      fmt::format("no results in '{}': run the study first, or name the folder that has them", folder));
}

llvm::Expected<Contents> readStore(const std::string& folder, const std::vector<JournalFile>& journals,
                                   std::vector<DamagedLine>& damaged) {
  if (!journals.empty()) return Contents::read(folder, journals, damaged);
  if (auto error = refuseDatabaseAlone(folder)) return error;
  return noResults(folder);
}

bool isStore(const std::string& folder) { return !firstJournal(folder).empty() || exists(databaseIn(folder)); }

void Store::tellDamaged(const std::vector<DamagedLine>& damaged, std::vector<std::string>& messages) const {
  if (damaged.empty()) return;
  messages.push_back(fmt::format(
      "{} line{} of the journals in '{}' {} left out: what they held does not count (the first: {})", damaged.size(),
      damaged.size() == 1 ? "" : "s", folder_, damaged.size() == 1 ? "is" : "are", damaged.front().text()));
}

llvm::Expected<Store> Store::openForReading(const std::string& folder, std::vector<std::string>& messages) {
  Store store;
  store.folder_ = folder;
  const bool live = Lease::isLive(folder);
  auto journals = listJournals(folder);
  if (!journals) return journals.takeError();
  if (live) messages.push_back(fmt::format("a run is at work in '{}': this is what it has measured so far", folder));
  std::vector<DamagedLine> damaged;
  auto contents = readStore(folder, *journals, damaged);
  if (!contents) return contents.takeError();
  store.contents_ = std::move(*contents);
  store.tellDamaged(damaged, messages);
  return store;
}

llvm::Expected<Store> Store::openForWriting(const std::string& folder, std::vector<std::string>& messages) {
  if (auto error = makeFolder(folder)) return error;
  auto lease = Lease::acquire(folder, "run", messages);
  if (!lease) return lease.takeError();
  Store store;
  store.folder_ = folder;
  store.lease_.emplace(std::move(*lease));
  if (auto error = store.readJournals(messages)) return error;
  if (auto error = store.takeSpooled(messages)) return error;
  if (auto error = store.closeDead()) return error;
  return store;
}

llvm::Error Store::readJournals(std::vector<std::string>& messages) {
  std::set<std::string> replaced;
  auto journals = listJournals(folder_, &replaced);
  if (!journals) return journals.takeError();
  before_ = std::move(*journals);
  for (const std::string& name : replaced) unlink(fmt::format("{}/{}/{}", folder_, kJournalFolder, name).c_str());
  if (before_.empty())
    if (auto error = refuseDatabaseAlone(folder_)) return error;
  std::vector<DamagedLine> damaged;
  auto contents = Contents::read(folder_, before_, damaged);
  if (!contents) return contents.takeError();
  contents_ = std::move(*contents);
  tellDamaged(damaged, messages);
  name_ = contents_.name.empty() ? newStoreName() : contents_.name;
  const auto largest = [](const auto& records) {
    return records.empty() ? 0 : std::max<int64_t>(0, records.rbegin()->first);
  };
  sessions_ = largest(contents_.sessions);
  runs_ = largest(contents_.runs);
  blocks_ = largest(contents_.blocks);
  trials_ = largest(contents_.trials);
  last_key_ = largest(contents_.keys);
  for (const auto& [number, key] : contents_.keys) keys_[*key] = number;
  return llvm::Error::success();
}

/// What an earlier run had no room for. It began in a journal that lies here; it ends in ours.
llvm::Error Store::takeSpooled(std::vector<std::string>& messages) {
  std::vector<Entry> entries = spooled(name_);
  if (entries.empty()) return llvm::Error::success();
  std::erase_if(entries, [&](const Entry& entry) {  // one that was killed may have taken it, and not come to drop it
    const auto* end = std::get_if<TrialEnded>(&entry);
    const auto trial = end ? contents_.trials.find(end->trial.id) : contents_.trials.end();
    return trial == contents_.trials.end() || trial->second.status != TrialStatus::Running;
  });
  for (const Entry& entry : entries)
    if (auto error = append(entry, &entry == &entries.back() ? OnDisk::Now : OnDisk::Sometime)) return error;
  dropSpool(name_);
  if (entries.empty()) return llvm::Error::success();
  messages.push_back(fmt::format("{} trial{} that the disk had no room for {} in the store now", entries.size(),
                                 entries.size() == 1 ? "" : "s", entries.size() == 1 ? "is" : "are"));
  return llvm::Error::success();
}

/// What a dead engine was doing has no end of its own: the last sign of life of its session stands in.
llvm::Error Store::closeDead() {
  std::vector<Entry> ends;
  for (const Trial& trial : unendedTrials()) {
    TrialEnded end;
    end.trial.id = trial.id;
    end.trial.session = trial.session;
    end.trial.status = TrialStatus::Interrupted;
    end.trial.reason = "expc died while it ran";
    end.at = contents_.sessions.at(trial.session).last_seen;
    ends.emplace_back(std::move(end));
  }
  for (const auto& [id, run] : contents_.runs)
    if (run.outcome.empty()) ends.emplace_back(RunEnded{id, {}, "killed", nullptr});
  for (const Entry& end : ends)
    if (auto error = append(end)) return error;
  return llvm::Error::success();
}

llvm::Error Store::heartbeat() { return lease_ ? lease_->heartbeat() : llvm::Error::success(); }

llvm::Error Store::close() {
  llvm::Error error = settle();
  if (!error) error = heartbeat();
  if (!error && whole_ && journal_) error = journal_->publish();
  journal_.reset();
  lease_.reset();
  return error;
}

}  // namespace expc::store
