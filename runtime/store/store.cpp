// Opening, repairing and appending. Every write goes through append(): it checks the lease and the journal's file
// first, then adds a line, then takes the same entry into memory, so that memory never holds what the disk refused.
// Three faults are repaired here: a dead writer's open work is ended (closeDead), results that a full disk refused
// are taken from the spool (takeSpooled), and a journal that somebody removed is written again (writeAgain).

#include "runtime/store/store.h"

#include <fcntl.h>
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
#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/files/results_folder.h"
#include "runtime/base/format.h"
#include "runtime/base/hash.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"

namespace expc::store {
namespace {

/// The last commit whose expc could read results of before 23 November 2026, which had no journals.
constexpr const char* kLastWithDatabases = "cff9634a";

/// A folder that is being removed loses its files one after another: wait up to 1 s for the journal's turn.
constexpr int kLooks = 50;
constexpr useconds_t kBetween = 20'000;  // 1 s in all

/// The database in which older versions of expc kept results, or an index of journals.
std::string databaseIn(const std::string& folder) { return folder + "/expc.sqlite"; }

/// Refuses a folder with a database and no journals: nothing may begin beside the only copy of measurements.
Error refuseDatabaseAlone(const std::string& folder) {
  const std::string path = databaseIn(folder);
  if (!files::isThere(path)) return Error::success();
  return failure(
      "'{0}' is a database without journals. Restore '{1}/{2}' from a backup. If the folder never had journals, "
      "convert it with the expc of commit {3}: `expc store compact --results {1}`. To start over, move the file away",
      path, folder, kJournalFolder, kLastWithDatabases);
}

/// The spool file of a store for this user. $TMPDIR may be shared, so the name holds the user's number and
/// openSpool checks the owner.
std::string spoolPath(const std::string& store) {
  const char* folder = std::getenv("TMPDIR");
  return fmt::format("{}/expc-spool-{}-{}.jsonl", folder && *folder == '/' ? folder : "/tmp", getuid(), store);
}

/// No descriptor, and errno, if the file cannot be opened or is not a regular file of this user.
Descriptor openSpool(const std::string& path, int flags) {
  // Created for this user alone. A link, a pipe or somebody else's file is refused.
  Descriptor fd(open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  struct stat state{};
  if (fd < 0 || (fstat(fd, &state) == 0 && S_ISREG(state.st_mode) && state.st_uid == getuid())) return fd;
  errno = EPERM;
  return {};
}

/// Keeps an entry of the store of that name in $TMPDIR (or /tmp), durably. Always returns an error: it says where
/// the entry is, or that it is lost.
Error spool(const std::string& store, const Entry& entry) {
  const std::string path = spoolPath(store), line = toLine(entry) + "\n";
  const Descriptor fd = openSpool(path, O_WRONLY | O_CREAT | O_APPEND);
  struct stat before{};
  const int error = fd < 0 || fstat(fd, &before) != 0 ? errno : files::writeAll(fd, line);
  // A failed write leaves nothing: neither a part of a line nor an empty file.
  if (error != 0 && fd >= 0 && (ftruncate(fd, before.st_size) != 0 || before.st_size == 0)) unlink(path.c_str());
  if (error == 0 && fdatasync(fd) == 0)
    return failure("the last trial was saved in {}, and the next run on this machine adds it", path);
  return failure("the last trial is lost: {} cannot be written either: {}", path,
                 std::strerror(error != 0 ? error : errno));
}

/// The lines of a store that this user's spool holds on this machine; none if there is no such file, or it is not
/// ours.
std::vector<Entry> spooled(const std::string& store) {
  std::vector<Entry> entries;
  const Descriptor fd = openSpool(spoolPath(store), O_RDONLY);
  std::string text;
  char piece[65536];
  for (ssize_t size; fd >= 0 && (size = read(fd, piece, sizeof piece)) > 0;) text.append(piece, size_t(size));
  for (StringRef rest = text; !rest.empty();) {
    const auto [line, next] = rest.split('\n');
    rest = next;
    if (auto entry = expectedToOptional(entryFromLine(line)))  // else it was cut
      entries.push_back(std::move(*entry));
  }
  return entries;
}

/// A random name for the store of a new folder.
std::string newName() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

/// The number of the next record: one more than the largest.
int64_t nextOf(const auto& records) { return records.empty() ? 1 : std::max<int64_t>(0, records.rbegin()->first) + 1; }

}  // namespace

std::string keptOutput(const std::string& results, int64_t trial) {
  return fmt::format("{}/outputs/{}", results, trial);
}

Error copyOutput(const std::string& from, int64_t trial, const std::string& to, int64_t number) {
  constexpr uint64_t kMostOutput = 32 << 20;  // none that a worker keeps is larger
  auto output = files::read(keptOutput(from, trial), kMostOutput, files::Links::Refused);
  if (!output)
    return llvm::handleErrors(output.takeError(), [](const llvm::ErrorInfoBase& unread) -> Error {
      if (unread.convertToErrorCode() == std::errc::no_such_file_or_directory) return Error::success();
      return failure("{}; this output of a trial would be lost. To continue without it, move it away",
                     unread.message());
    });
  std::error_code failed;
  const std::string target = keptOutput(to, number);
  std::filesystem::create_directories(std::filesystem::path(target).parent_path(), failed);
  return files::write(target, (*output)->getBuffer(), files::Links::Refused);
}

Error noResults(const std::string& folder) {
  return failure("no results in '{}': run the study first, or name the folder that has them", folder);
}

Expected<Contents> readStore(const std::string& folder, const Journals& journals, std::vector<DamagedLine>& damaged) {
  if (!journals.files.empty()) return Contents::read(folder, journals, damaged);
  TRY(refuseDatabaseAlone(folder));
  return noResults(folder);
}

bool isStore(const std::string& folder) { return !firstJournal(folder).empty() || files::isThere(databaseIn(folder)); }

/// Only the first line is named: a long list would hide it.
void tellDamaged(const std::string& folder, const std::vector<DamagedLine>& damaged,
                 std::vector<std::string>& messages) {
  if (damaged.empty()) return;
  const bool one = damaged.size() == 1;
  messages.push_back(fmt::format("the journals in '{}' are damaged in {}; {} ignored ({}{})", folder,
                                 base::counted(damaged.size(), "place"), one ? "it" : "they",
                                 one ? "" : "the first: ", damaged.front().text()));
}

Expected<Store> Store::openForReading(const std::string& folder, std::vector<std::string>& messages) {
  Store store;
  store.folder_ = folder;
  // Asked before the journals are listed: a run that ends in between has written all its lines by then.
  const bool live = Lease::isLive(folder);
  auto journals = TRY(listJournals(folder));
  if (live) messages.push_back(fmt::format("a run is in progress in '{}'; these are its results so far", folder));
  std::vector<DamagedLine> damaged;
  store.contents_ = TRY(readStore(folder, journals, damaged));
  tellDamaged(folder, damaged, messages);
  return store;
}

Expected<Store> Store::openForWriting(const std::string& folder, std::vector<std::string>& messages) {
  TRY(files::makeFolder(folder));
  auto lease = TRY(Lease::acquire(folder, "run", messages));
  Store store;
  store.folder_ = folder;
  store.lease_.emplace(std::move(lease));
  TRY(store.readJournals(messages));
  TRY(store.takeSpooled(messages));
  TRY(store.closeDead());
  return store;
}

Error Store::readJournals(std::vector<std::string>& messages) {
  before_ = TRY(listJournals(folder_));
  // A killed compaction may have left these: a later journal holds all that they hold.
  for (const std::string& name : before_.replaced)
    unlink(fmt::format("{}/{}/{}", folder_, kJournalFolder, name).c_str());
  if (before_.files.empty()) TRY(refuseDatabaseAlone(folder_));
  std::vector<DamagedLine> damaged;
  contents_ = TRY(Contents::read(folder_, before_, damaged));
  tellDamaged(folder_, damaged, messages);
  // The first journal gives a folder its name, which copies of the folder keep.
  name_ = contents_.name.empty() ? newName() : contents_.name;
  for (const auto& [number, key] : contents_.keys) keys_[*key] = number;
  return Error::success();
}

/// Takes in results that an earlier run had no room for. These trials began in a journal of this folder and end in
/// ours. The file is removed only once they are durable.
Error Store::takeSpooled(std::vector<std::string>& messages) {
  std::vector<Entry> entries = spooled(name_);
  if (entries.empty()) return Error::success();
  unsigned late = 0;
  std::erase_if(entries, [&](const Entry& entry) {  // a killed run may have taken it before it could remove the spool
    const auto* end = std::get_if<TrialEnded>(&entry);
    const Trial* trial = end ? entryOf(contents_.trials, end->trial.id) : nullptr;
    if (!trial) return true;
    late += trial->status == TrialStatus::Interrupted;
    return trial->status != TrialStatus::Running;
  });
  if (late > 0)
    messages.push_back(fmt::format("{} in {} came too late: another user or machine had marked {} as interrupted",
                                   base::counted(late, "trial"), spoolPath(name_), late == 1 ? "it" : "them"));
  for (const Entry& entry : entries)
    // One wait at the end suffices: a sync covers all that was written before.
    TRY(append(entry, &entry == &entries.back() ? OnDisk::Now : OnDisk::Sometime));
  unlink(spoolPath(name_).c_str());
  if (entries.empty()) return Error::success();
  messages.push_back(fmt::format("{} that did not fit on the disk {} stored now",
                                 base::counted(entries.size(), "trial"), base::are(entries.size())));
  return Error::success();
}

/// Ends what a dead engine left open: its trials are interrupted, at the last sign of life of their session, and
/// its runs are killed.
Error Store::closeDead() {
  std::vector<Entry> ends;
  for (const Trial& trial : unendedTrials()) {
    TrialEnded end;
    end.trial.id = trial.id;
    end.trial.session = trial.session;
    end.trial.status = TrialStatus::Interrupted;
    end.trial.reason = "expc died while it ran";
    // Not later than that: nobody knows how long the trial went on.
    end.at = contents_.sessions.at(trial.session).last_seen;
    ends.emplace_back(std::move(end));
  }
  for (const auto& [id, run] : contents_.runs)
    if (!run.outcome) ends.emplace_back(RunEnded{id, {}, {Outcome::Killed}, nullptr});
  for (const Entry& end : ends) TRY(append(end));
  return Error::success();
}

Error Store::append(const Entry& entry, OnDisk when) {
  TRY(heartbeat());
  if (when != OnDisk::Sometime)  // the journal tells only once what the disk did not take
    TRY(sync());
  // The journal is made with the first entry, so that a run that measures nothing leaves no file.
  if (!journal_) {
    const auto appears = whole_ ? JournalWriter::Appears::Whole : JournalWriter::Appears::AtOnce;
    journal_ = TRY(JournalWriter::create(folder_, before_.files, name_, appears));
  }
  // A hidden journal becomes durable as a whole, when it is published.
  TRY(journal_->append(entry, whole_ ? OnDisk::Sometime : when));
  contents_.take(entry);
  return Error::success();
}

Error Store::beginWhole() {
  whole_ = true;
  // Repairs made while opening stand in a journal of their own, which counts among the earlier ones.
  if (!journal_) return Error::success();
  before_.files.push_back(journal_->file());
  journal_.reset();
  return Error::success();
}

Expected<int64_t> Store::numberOf(const Key& key) {
  const auto [known, fresh] = keys_.try_emplace(*key, nextOf(contents_.keys));
  if (fresh)
    // Without the line in the journal the number must not be used.
    if (auto error = append(KeyAdded{known->second, *key})) {
      keys_.erase(known);
      return error;
    }
  return known->second;
}

Expected<int64_t> Store::addSession(Session session) {
  session.id = nextOf(contents_.sessions);
  // Durable at once, because runs, blocks and trials refer to it.
  TRY(append(session, OnDisk::Now));
  return session.id;
}

Error Store::touchSession(int64_t session, Moment at) { return append(Seen{session, at}); }

Expected<int64_t> Store::addRun(Run run) {
  run.id = nextOf(contents_.runs);
  // A plan is written once per journal; runs refer to it by its hash.
  const PlanText plan{base::shortHash(run.plan_json), std::move(run.plan_json)};
  if (plans_.insert(plan.hash).second) TRY(append(plan));
  // A run is durable before its first trial starts: trials of an unknown run do not count.
  TRY(append(RunBegan{run, plan.hash}, OnDisk::Now));
  return run.id;
}

Error Store::endRun(int64_t run, Moment at, Outcome outcome, RunClaimsPtr judged) {
  return append(RunEnded{run, at, outcome, std::move(judged)}, OnDisk::Now);
}

Expected<int64_t> Store::addBlock(BlockPlan plan) {
  // Not waited for: the block stands in the journal before its trials, so whenever one of these is durable, so is
  // it.
  plan.block.id = nextOf(contents_.blocks);
  TRY(append(plan));
  return plan.block.id;
}

Expected<int64_t> Store::beginTrial(const Trial& trial) {
  auto key = TRY(numberOf(trial.key));
  TrialBegan began{trial, key};
  began.trial.id = nextOf(contents_.trials);
  unlink(keptOutput(folder_, began.trial.id).c_str());  // left by a trial of this number whose line was lost
  TRY(append(began));
  return began.trial.id;
}

Error Store::endTrial(const Trial& trial, Moment at) {
  TrialEnded end{trial, at};
  // An excerpt or a merge is written whole or not at all, so nothing of it is spooled.
  Error error = append(end, OnDisk::WhenAwaited);
  if (whole_) return error;
  if (error) return keepElsewhere(std::move(error), end);
  unsettled_ = std::move(end);
  return Error::success();
}

Error Store::sync() {
  if (!unsettled_) return Error::success();
  const TrialEnded end = *std::exchange(unsettled_, std::nullopt);
  Error error = journal_->awaitSync();
  return error ? keepElsewhere(std::move(error), end) : Error::success();
}

Error Store::keepElsewhere(Error error, const TrialEnded& end) {
  // If the lease is lost, the value belongs to nobody. Otherwise only the disk is in the way, and the spool may
  // take it.
  if (auto lost = heartbeat()) {
    consumeError(std::move(error));  // it says the same, or is a consequence
    return lost;
  }
  return llvm::joinErrors(std::move(error), spool(name_, end));
}

Error Store::reread(const Trial& trial) {
  auto key = TRY(numberOf(trial.key));
  // The old values are replaced for good, so the new ones must not be lost.
  return append(Reread{trial, key}, OnDisk::Now);
}

Error Store::adopt(Adopted entry) { return append(std::move(entry)); }

Error Store::heartbeat() {
  if (lease_)
    if (auto error = lease_->heartbeat()) return keepRemoved(std::move(error));
  return journal_ && !whole_ && journal_->isLost() ? writeAgain() : Error::success();
}

Error Store::explainLoss(Error error) {
  for (int look = 0; look < kLooks; ++look, usleep(kBetween))
    if (auto lost = heartbeat()) return consumeError(std::move(error)), std::move(lost);
  return error;
}

/// Writes all lines into a new journal, and tells what happened. If that fails too, keeps them outside of the
/// folder.
Error Store::writeAgain() {
  const std::string name = journal_->file().name;
  auto again = journal_->again(before_.files, name_);
  if (!again)
    return keepRemoved(failure("journal/{} was removed or changed, and writing it again failed: {}", name,
                               toString(again.takeError())),
                       /*lost=*/true);
  journal_ = std::move(*again);
  std::string also;
  // Whoever removed our journal may have removed others, which we cannot write again.
  if (auto journals = listJournals(folder_); !journals)
    also = toString(journals.takeError());
  else if (!journals->missing.empty())
    also = journals->missing.front().text();
  tell_(
      fmt::format("{0}/journal/{1} was removed or changed while this run wrote to it; all results of the run are in "
                  "{0}/journal/{2} now{3}{4}",
                  folder_, name, journal_->file().name, also.empty() ? "" : "; ", also));
  return Error::success();
}

/// After the folder was lost: keeps the lines of our journal outside of it, if the journal is gone too, and adds to
/// `error` where they are.
Error Store::keepRemoved(Error error, bool lost) {
  // Somebody who removes the folder may have removed the lease first, and comes to the journal next. If the lease
  // is there again, another process took the folder over, and the journal is safe.
  const std::string lease = folder_ + "/" + std::string(kLeaseName);
  for (int look = 0; look < kLooks && kept_.empty() && journal_ && !whole_; ++look) {
    // The file is certainly gone, or known to be unusable: the lines in memory are all that is left.
    if (lost || journal_->isRemoved()) {
      auto kept = journal_->keepElsewhere();
      kept_ = fmt::format(
          "The results of this run in journal/{} are {}", journal_->file().name,
          kept ? fmt::format("kept in the results folder {}", *kept) : "lost: " + toString(kept.takeError()));
    } else if (files::isThere(lease)) {
      break;
    } else {
      usleep(kBetween);
    }
  }
  return kept_.empty() ? std::move(error) : failure("{}. {}", std::move(error), kept_);
}

Error Store::close() {
  // In this order: results durable, journal visible, lease free. So the next writer sees everything.
  Error error = sync();
  if (!error) error = heartbeat();  // also checks that the journal is still there
  if (!error && whole_ && journal_) error = journal_->publish();
  journal_.reset();
  lease_.reset();
  return error;
}

}  // namespace expc::store
