#include "runtime/store/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"
#include "runtime/files/files.h"

namespace expc::store {
namespace {

/// The last expc that read results of before 23 November 2026, which had no journals.
constexpr const char* kLastWithDatabases = "cff9634a";

// Looks at a folder that somebody may be removing.
constexpr int kLooks = 50;
constexpr useconds_t kBetween = 20'000;  // 1 s in all

/// The database in which older versions of expc kept results, or an index of journals.
std::string databaseIn(const std::string& folder) { return folder + "/expc.sqlite"; }

/// Refuses a folder with a database and no journals: nothing may begin beside the only copy of measurements.
llvm::Error refuseDatabaseAlone(const std::string& folder) {
  const std::string path = databaseIn(folder);
  if (!files::isThere(path)) return llvm::Error::success();
  return base::failure(
      "'{0}' lies in a results folder without journals: put '{1}/{2}' back if it was there. Of a folder that "
      "never had one, the expc of commit {3} makes it: `expc store compact --results {1}`. To begin anew, "
      "move the file away",
      path, folder, kJournalFolder, kLastWithDatabases);
}

/// Only this user may have made it: others may write in /tmp too.
std::string spoolPath(const std::string& store) {
  const char* folder = std::getenv("TMPDIR");
  return fmt::format("{}/expc-spool-{}-{}.jsonl", folder && *folder == '/' ? folder : "/tmp", getuid(), store);
}

/// None and errno where it cannot be opened or is not a file of ours.
base::Descriptor openSpool(const std::string& path, int flags) {
  base::Descriptor fd(open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  struct stat state{};
  if (fd < 0 || (fstat(fd, &state) == 0 && S_ISREG(state.st_mode) && state.st_uid == getuid())) return fd;
  errno = EPERM;
  return {};
}

/// Keeps an entry of the store of that name in $TMPDIR (or /tmp), durably. What comes back is always an error, which
/// says where the entry is, or that it is lost.
llvm::Error spool(const std::string& store, const Entry& entry) {
  const std::string path = spoolPath(store), line = toLine(entry) + "\n";
  const base::Descriptor fd = openSpool(path, O_WRONLY | O_CREAT | O_APPEND);
  struct stat before{};
  const int error = fd < 0 || fstat(fd, &before) != 0 ? errno : files::writeAll(fd, line);
  // A failed write leaves nothing: neither a part of a line nor an empty file.
  if (error != 0 && fd >= 0 && (ftruncate(fd, before.st_size) != 0 || before.st_size == 0)) unlink(path.c_str());
  if (error == 0 && fdatasync(fd) == 0)
    return base::failure("what was measured last is kept in {} and is taken from there by the next run on this machine",
                         path);
  return base::failure("what was measured last is lost: {} cannot be written either: {}", path,
                       std::strerror(error != 0 ? error : errno));
}

/// The lines that were kept of a store on this machine; none if there are none, or they are not ours.
std::vector<Entry> spooled(const std::string& store) {
  std::vector<Entry> entries;
  const base::Descriptor fd = openSpool(spoolPath(store), O_RDONLY);
  std::string text;
  char piece[65536];
  for (ssize_t size; fd >= 0 && (size = read(fd, piece, sizeof piece)) > 0;) text.append(piece, size_t(size));
  for (llvm::StringRef rest = text; !rest.empty();) {
    const auto [line, next] = rest.split('\n');
    rest = next;
    if (auto entry = llvm::expectedToOptional(entryFromLine(line)))  // else it was cut
      entries.push_back(std::move(*entry));
  }
  return entries;
}

/// A random one, of a new folder's store.
std::string newName() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

/// The number of the next record.
int64_t nextOf(const auto& records) { return records.empty() ? 1 : std::max<int64_t>(0, records.rbegin()->first) + 1; }

}  // namespace

std::string keptOutput(const std::string& results, int64_t trial) {
  return fmt::format("{}/outputs/{}", results, trial);
}

llvm::Error copyOutput(const std::string& from, int64_t trial, const std::string& to, int64_t number) {
  constexpr uint64_t kMostOutput = 32 << 20;  // none that a worker keeps is larger
  auto output = files::read(keptOutput(from, trial), kMostOutput, files::Links::Refused);
  if (!output)
    return llvm::handleErrors(output.takeError(), [](const llvm::ErrorInfoBase& unread) -> llvm::Error {
      if (unread.convertToErrorCode() == std::errc::no_such_file_or_directory) return llvm::Error::success();
      return base::failure("{}; this output of a trial would be lost: to go on without it, move it away",
                           unread.message());
    });
  std::error_code failed;
  const std::string target = keptOutput(to, number);
  std::filesystem::create_directories(std::filesystem::path(target).parent_path(), failed);
  return files::write(target, (*output)->getBuffer(), files::Links::Refused);
}

llvm::Error noResults(const std::string& folder) {
  return base::failure("no results in '{}': run the study first, or name the folder that has them", folder);
}

llvm::Expected<Contents> readStore(const std::string& folder, const Journals& journals,
                                   std::vector<DamagedLine>& damaged) {
  if (!journals.files.empty()) return Contents::read(folder, journals, damaged);
  if (auto error = refuseDatabaseAlone(folder)) return error;
  return noResults(folder);
}

bool isStore(const std::string& folder) { return !firstJournal(folder).empty() || files::isThere(databaseIn(folder)); }

void tellDamaged(const std::string& folder, const std::vector<DamagedLine>& damaged,
                 std::vector<std::string>& messages) {
  if (damaged.empty()) return;
  const bool one = damaged.size() == 1;
  messages.push_back(fmt::format("the journals in '{}' are damaged in {} place{}: what {} held does not count ({}{})",
                                 folder, damaged.size(), one ? "" : "s", one ? "it" : "they",
                                 one ? "" : "the first: ", damaged.front().text()));
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
  tellDamaged(folder, damaged, messages);
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
  auto journals = listJournals(folder_);
  if (!journals) return journals.takeError();
  before_ = std::move(*journals);
  for (const std::string& name : before_.replaced)
    unlink(fmt::format("{}/{}/{}", folder_, kJournalFolder, name).c_str());
  if (before_.files.empty())
    if (auto error = refuseDatabaseAlone(folder_)) return error;
  std::vector<DamagedLine> damaged;
  auto contents = Contents::read(folder_, before_, damaged);
  if (!contents) return contents.takeError();
  contents_ = std::move(*contents);
  tellDamaged(folder_, damaged, messages);
  name_ = contents_.name.empty() ? newName() : contents_.name;
  for (const auto& [number, key] : contents_.keys) keys_[*key] = number;
  return llvm::Error::success();
}

/// Writes the entries that an earlier run had no room for. They began in a journal of this folder and end in ours.
llvm::Error Store::takeSpooled(std::vector<std::string>& messages) {
  std::vector<Entry> entries = spooled(name_);
  if (entries.empty()) return llvm::Error::success();
  unsigned late = 0;
  std::erase_if(entries, [&](const Entry& entry) {  // one that was killed may have taken it, and not come to drop it
    const auto* end = std::get_if<TrialEnded>(&entry);
    const auto trial = end ? contents_.trials.find(end->trial.id) : contents_.trials.end();
    if (trial == contents_.trials.end()) return true;
    late += trial->second.status == TrialStatus::Interrupted;
    return trial->second.status != TrialStatus::Running;
  });
  if (late > 0)
    messages.push_back(fmt::format("{} trial{} in {} came too late: another user or machine closed {} as interrupted",
                                   late, late == 1 ? "" : "s", spoolPath(name_), late == 1 ? "it" : "them"));
  for (const Entry& entry : entries)
    if (auto error = append(entry, &entry == &entries.back() ? OnDisk::Now : OnDisk::Sometime)) return error;
  unlink(spoolPath(name_).c_str());
  if (entries.empty()) return llvm::Error::success();
  messages.push_back(fmt::format("{} trial{} that the disk had no room for {} in the store now", entries.size(),
                                 entries.size() == 1 ? "" : "s", entries.size() == 1 ? "is" : "are"));
  return llvm::Error::success();
}

/// Ends the open work of a dead engine at the last sign of life of its session.
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
    if (!run.outcome) ends.emplace_back(RunEnded{id, {}, {Outcome::Killed}, nullptr});
  for (const Entry& end : ends)
    if (auto error = append(end)) return error;
  return llvm::Error::success();
}

llvm::Error Store::append(const Entry& entry, OnDisk when) {
  if (auto error = heartbeat()) return error;
  if (when != OnDisk::Sometime)  // the journal tells only once what the disk did not take
    if (auto error = settle()) return error;
  if (!journal_) {
    const auto appears = whole_ ? JournalWriter::Appears::Whole : JournalWriter::Appears::AtOnce;
    auto journal = JournalWriter::create(folder_, before_.files, name_, appears);
    if (!journal) return journal.takeError();
    journal_ = std::move(*journal);
  }
  if (auto error = journal_->append(entry, whole_ ? OnDisk::Sometime : when)) return error;
  contents_.take(entry);
  return llvm::Error::success();
}

llvm::Error Store::beginWhole() {
  whole_ = true;
  if (!journal_) return llvm::Error::success();
  before_.files.push_back(journal_->file());
  journal_.reset();
  return llvm::Error::success();
}

llvm::Expected<int64_t> Store::numberOf(const Key& key) {
  const auto [known, fresh] = keys_.try_emplace(*key, nextOf(contents_.keys));
  if (fresh)
    if (auto error = append(KeyAdded{known->second, *key})) {
      keys_.erase(known);
      return error;
    }
  return known->second;
}

llvm::Expected<int64_t> Store::addSession(Session session) {
  session.id = nextOf(contents_.sessions);
  if (auto error = append(session, OnDisk::Now)) return error;
  return session.id;
}

llvm::Error Store::touchSession(int64_t session, Moment at) { return append(Seen{session, at}); }

llvm::Expected<int64_t> Store::addRun(Run run) {
  run.id = nextOf(contents_.runs);
  const PlanText plan{plan::shortHash(run.plan_json), std::move(run.plan_json)};
  if (plans_.insert(plan.hash).second)
    if (auto error = append(plan)) return error;
  if (auto error = append(RunBegan{run, plan.hash}, OnDisk::Now)) return error;
  return run.id;
}

llvm::Error Store::endRun(int64_t run, Moment at, Outcome outcome, JudgedPtr judged) {
  return append(RunEnded{run, at, outcome, std::move(judged)}, OnDisk::Now);
}

llvm::Expected<int64_t> Store::addBlock(BlockPlan plan) {
  plan.block.id = nextOf(contents_.blocks);
  if (auto error = append(plan)) return error;
  return plan.block.id;
}

llvm::Expected<int64_t> Store::beginTrial(const Trial& trial) {
  auto key = numberOf(trial.key);
  if (!key) return key.takeError();
  TrialBegan began{trial, *key};
  began.trial.id = nextOf(contents_.trials);
  unlink(keptOutput(folder_, began.trial.id).c_str());  // of a trial of this number that never came to be
  if (auto error = append(began)) return error;
  return began.trial.id;
}

llvm::Error Store::endTrial(const Trial& trial, Moment at) {
  TrialEnded end{trial, at};
  llvm::Error error = append(end, OnDisk::WhenAwaited);
  if (whole_) return error;
  if (error) return keepElsewhere(std::move(error), end);
  unsettled_ = std::move(end);
  return llvm::Error::success();
}

llvm::Error Store::settle() {
  if (!unsettled_) return llvm::Error::success();
  const TrialEnded end = *std::exchange(unsettled_, std::nullopt);
  llvm::Error error = journal_->awaitSync();
  return error ? keepElsewhere(std::move(error), end) : llvm::Error::success();
}

llvm::Error Store::keepElsewhere(llvm::Error error, const TrialEnded& end) {
  // The lease may be another's by now: then the value is nobody's. Else the disk is in the way, and another may not be.
  if (auto lost = heartbeat()) {
    llvm::consumeError(std::move(error));  // it says the same, or what comes of it
    return lost;
  }
  return llvm::joinErrors(std::move(error), spool(name_, end));
}

llvm::Error Store::reread(const Trial& trial) {
  auto key = numberOf(trial.key);
  if (!key) return key.takeError();
  return append(Reread{trial, *key}, OnDisk::Now);
}

llvm::Error Store::adopt(Adopted entry) { return append(std::move(entry)); }

llvm::Error Store::heartbeat() {
  if (lease_)
    if (auto error = lease_->heartbeat()) return keepRemoved(std::move(error));
  return journal_ && !whole_ && journal_->isLost() ? writeAgain() : llvm::Error::success();
}

llvm::Error Store::writeAgain() {
  const std::string name = journal_->file().name;
  auto again = journal_->again(before_.files, name_);
  if (!again)
    return keepRemoved(base::failure("journal/{} was removed or changed, and cannot be written again: {}", name,
                                     llvm::toString(again.takeError())),
                       /*lost=*/true);
  journal_ = std::move(*again);
  std::string also;
  if (auto journals = listJournals(folder_); !journals)
    also = llvm::toString(journals.takeError());
  else if (!journals->missing.empty())
    also = journals->missing.front().text();
  tell_(fmt::format(
      "{0}/journal/{1} was removed or changed while this run wrote to it; all that the run measured stands in "
      "{0}/journal/{2} now{3}{4}",
      folder_, name, journal_->file().name, also.empty() ? "" : "; ", also));
  return llvm::Error::success();
}

llvm::Error Store::keepRemoved(llvm::Error error, bool lost) {
  // Somebody who removes the folder may have removed the lease first, and comes to the journal next.
  const std::string lease = folder_ + "/" + std::string(kLeaseName);
  for (int look = 0; look < kLooks && kept_.empty() && journal_ && !whole_; ++look) {
    if (lost || journal_->isRemoved()) {
      auto kept = journal_->keepElsewhere();
      kept_ = fmt::format("What this run measured in journal/{} is {}", journal_->file().name,
                          kept ? "kept in the results folder " + *kept : "lost: " + llvm::toString(kept.takeError()));
    } else if (files::isThere(lease)) {
      break;
    } else {
      usleep(kBetween);
    }
  }
  return kept_.empty() ? std::move(error) : base::failure("{}. {}", llvm::toString(std::move(error)), kept_);
}

llvm::Error Store::close() {
  llvm::Error error = settle();
  if (!error) error = heartbeat();  // also looks whether the journal is still there
  if (!error && whole_ && journal_) error = journal_->publish();
  journal_.reset();
  lease_.reset();
  return error;
}

}  // namespace expc::store
