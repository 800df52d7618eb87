// Reads and writes the files below journal/. A file is created exclusively and named after its epoch, which is
// larger than all earlier ones; it is never changed after its process ended. Writing keeps whole lines: a failed
// write is cut off again. Durability is asked for asynchronously (aio_fsync), so that the disk works while the next
// trial is prepared.

#include "runtime/store/journal.h"

#include <fcntl.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/files/results_folder.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"

namespace expc::store {
namespace {

constexpr std::string_view kSuffix = ".jsonl", kHidden = ".new", kFound = ".found";

std::string pathOf(const std::string& folder, std::string_view name) {
  return fmt::format("{}/{}/{}", folder, kJournalFolder, name);
}

std::string nameOf(uint64_t epoch) { return fmt::format("{:06}{}", epoch, kSuffix); }

/// The epoch of a journal's name: 7 for "000007.jsonl". Nothing for other files, and for numbers so large that
/// there is no next one.
std::optional<uint64_t> epochOf(StringRef name) {
  constexpr uint64_t kMost = uint64_t(1) << 62;
  uint64_t epoch = 0;
  if (name.drop_back(std::min(kSuffix.size(), name.size())).getAsInteger(10, epoch)) return std::nullopt;
  return epoch < kMost && nameOf(epoch) == name ? std::optional(epoch) : std::nullopt;
}

/// The names of a folder's journals, by epoch.
std::map<uint64_t, std::string> namesIn(const std::string& folder, std::error_code& error) {
  std::map<uint64_t, std::string> names;
  for (std::filesystem::directory_iterator at(pathOf(folder, ""), error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (const auto epoch = epochOf(name)) names[*epoch] = name;
  }
  return names;
}

Expected<std::unique_ptr<llvm::MemoryBuffer>> openJournal(const std::string& path) {
  auto buffer = files::read(path, UINT64_MAX, files::Links::Refused);
  if (!buffer) return failure("cannot be read as a journal: {}", buffer.takeError());
  return buffer;
}

/// Makes the folder durable: a file that is on the disk but has no durable name is lost with the power.
void syncFolder(const std::string& folder) {
  const Descriptor directory(open(pathOf(folder, "").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory >= 0) fsync(directory);
}

/// The first line of a journal, and the size of the file.
struct Head {
  JournalFile file;
  Opened opened;
  std::string_view damage;  // of the first line; "" if it is whole
};

/// Reads the first line of a journal. Bytes behind the last newline are a line that a kill cut short; they do not
/// count.
Expected<Head> readHead(const std::string& folder, const std::string& name, uint64_t epoch) {
  auto buffer = TRY(openJournal(pathOf(folder, name)));
  const StringRef text = buffer->getBuffer();
  Head head;
  head.file.name = name;
  head.file.epoch = epoch;
  const size_t end = text.rfind('\n');
  head.file.bytes = end == StringRef::npos ? 0 : end + 1;
  head.file.ignored = text.size() - head.file.bytes;
  if (head.file.bytes == 0) return head;  // cut before its first line was whole: nothing is in it
  const StringRef line = text.take_front(text.find('\n'));
  head.damage = damageOf(line);
  if (!head.damage.empty()) return head;
  // From here on the line is as its writer wrote it, so an error means another version, or a file under a wrong
  // name.
  auto entry = entryFromLine(line);
  if (!entry) return failure("{}: the first line {}", pathOf(folder, name), entry.takeError());
  const auto* opened = std::get_if<Opened>(&*entry);
  if (!opened || opened->epoch != epoch)
    return failure("{}: does not start like a journal of this name", pathOf(folder, name));
  head.opened = *opened;
  return head;
}

}  // namespace

Expected<Journals> listJournals(const std::string& folder) {
  std::error_code error;
  const std::map<uint64_t, std::string> names = namesIn(folder, error);
  // A folder without journals is empty, not an error: a first run makes one.
  const bool none =
      error == std::errc::no_such_file_or_directory ||
      (error == std::errc::not_a_directory && !files::isThere(pathOf(folder, "")));  // the folder is a file
  if (error && !none) return failure("{}/{}: cannot be read: {}", folder, kJournalFolder, error.message());
  Journals journals;
  std::map<std::string, uint64_t> sealed;
  std::set<std::string> gone;
  // Each first line says how many bytes of the earlier journals counted when it was written. Of several such
  // statements about one journal the earliest counts.
  std::vector<Head> heads;
  // First pass: the first line of each journal. Second pass: what counts of each.
  for (const auto& [epoch, name] : names) {
    auto head = TRY(readHead(folder, name, epoch));
    for (const auto& [other, bytes] : head.opened.sealed) sealed.try_emplace(other, bytes);
    gone.insert(head.opened.replaced.begin(), head.opened.replaced.end());
    heads.push_back(std::move(head));
  }
  for (Head& head : heads) {
    // Replaced journals are skipped before any check: a compaction may have been killed while removing them.
    const auto at = sealed.find(head.file.name);
    const bool is_sealed = at != sealed.end();
    const uint64_t counted = is_sealed ? at->second : head.file.bytes;
    if (is_sealed) sealed.erase(at);
    if (gone.count(head.file.name)) {
      journals.replaced.insert(head.file.name);
      continue;
    }
    if (head.file.bytes < counted)
      return failure(
          "{}: has only {} of the {} bytes that it had when the next journal was started; restore the whole file",
          pathOf(folder, head.file.name), head.file.bytes, counted);
    // Without its first line nothing says which bytes of the earlier journals count, unless a later journal repeats
    // it.
    if (!head.damage.empty() && !is_sealed)
      return failure(
          "{}: the first line: {}. This line says how much of earlier journals counts. Restore the file; or move it "
          "away, and its contents are ignored",
          pathOf(folder, head.file.name), head.damage);
    head.file.ignored += head.file.bytes - counted;
    head.file.bytes = counted;
    journals.files.push_back(head.file);
  }
  // An empty journal holds nothing, so nobody misses it.
  for (const auto& [name, bytes] : sealed)
    if (bytes > 0 && !gone.count(name))
      journals.missing.push_back(
          {name, 0, fmt::format("is missing, but a later journal needs its {} bytes: restore it", bytes)});
  return journals;
}

std::string firstJournal(const std::string& folder) {
  std::error_code unread;
  const std::map<uint64_t, std::string> names = namesIn(folder, unread);
  return names.empty() ? "" : pathOf(folder, names.begin()->second);
}

std::string DamagedLine::text() const {
  return line ? fmt::format("{} line {}: {}", journal, line, why) : fmt::format("{}: {}", journal, why);
}

Error readJournal(const std::string& folder, const JournalFile& journal, function_ref<Error(Entry&&)> take,
                  std::vector<DamagedLine>& damaged) {
  auto buffer = TRY(openJournal(pathOf(folder, journal.name)));
  StringRef text = buffer->getBuffer().take_front(journal.bytes);
  uint64_t number = 0;
  while (!text.empty()) {
    const auto [line, rest] = text.split('\n');
    text = rest;
    ++number;
    auto entry = entryFromLine(line);
    if (!entry) {
      // A damaged line is told and skipped: the other lines do not depend on it, unless they refer to it.
      damaged.push_back({journal.name, number, toString(entry.takeError())});
      continue;
    }
    TRY(take(std::move(*entry)));
  }
  return Error::success();
}

JournalWriter::~JournalWriter() {
  // The sync reads this object's descriptor, so it must be over first.
  consumeError(awaitSync());
  if (hidden_) unlink(path_.c_str());
}

Expected<std::unique_ptr<JournalWriter>> JournalWriter::create(const std::string& folder,
                                                               const std::vector<JournalFile>& before,
                                                               std::string store, Appears appears) {
  Opened opened;
  opened.store = std::move(store);
  for (const JournalFile& file : before) {
    opened.sealed[file.name] = file.bytes;
    if (appears == Appears::InsteadOfOthers) opened.replaced.insert(file.name);
    opened.epoch = std::max(opened.epoch, file.epoch);
  }
  ++opened.epoch;
  return make(folder, std::move(opened), appears != Appears::AtOnce);
}

Expected<std::unique_ptr<JournalWriter>> JournalWriter::make(const std::string& folder, Opened opened, bool hidden) {
  TRY(files::makeFolder(fmt::format("{}/{}", folder, kJournalFolder)));
  std::unique_ptr<JournalWriter> made(new JournalWriter);
  JournalWriter& writer = *made;
  writer.folder_ = folder;
  writer.file_.epoch = opened.epoch;
  writer.file_.name = nameOf(opened.epoch);
  writer.path_ = pathOf(folder, writer.file_.name);
  const std::string hidden_path = writer.path_ + std::string(kHidden);
  unlink(hidden_path.c_str());  // left by a writer that was killed
  // O_EXCL: two writers cannot make the same journal. O_NOFOLLOW: a link in its place is not followed.
  if (hidden) writer.path_ = hidden_path;
  writer.fd_ =
      Descriptor(open(writer.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (writer.fd_ < 0 && errno == EEXIST) {
    return failure("{}: another process has just started to write here; run the same command once it has finished",
                   writer.path_);
  }
  if (writer.fd_ < 0) return files::cannotWrite(folder, errno);
  writer.hidden_ = hidden;
  // An empty journal could not seal the earlier ones, so it must not stay.
  if (auto error = writer.append(opened, OnDisk::Now)) {
    unlink(writer.path_.c_str());
    return error;
  }
  writer.head_ = writer.file_.bytes;
  syncFolder(folder);
  return made;
}

/// Compares inodes rather than only asking whether the name exists: a restored backup has the same name.
bool JournalWriter::isLost() const {
  struct stat held{}, there{};
  return fstat(fd_, &held) != 0 || lstat(path_.c_str(), &there) != 0 || held.st_ino != there.st_ino ||
         held.st_dev != there.st_dev || uint64_t(there.st_size) < file_.bytes;
}

bool JournalWriter::isRemoved() const {
  struct stat held{};
  return fstat(fd_, &held) != 0 || held.st_nlink == 0;
}

Expected<std::unique_ptr<JournalWriter>> JournalWriter::again(const std::vector<JournalFile>& before,
                                                              std::string store) const {
  Opened opened{file_.epoch, std::move(store), {}, {file_.name}};
  // Counts on the same bytes of earlier journals as this one did.
  for (const JournalFile& file : before) opened.sealed[file.name] = file.bytes;
  std::error_code none;
  if (const auto names = namesIn(folder_, none); !names.empty())
    // The name of a removed journal may be taken by now: use a number above all that are there.
    opened.epoch = std::max(opened.epoch, names.rbegin()->first);
  ++opened.epoch;
  auto made = TRY(make(folder_, std::move(opened), /*hidden=*/true));
  const StringRef lines = StringRef(text_).drop_front(head_);
  TRY(made->add(lines));
  // Another file under our name belongs to somebody: as a replaced journal the next writer would remove it, so it
  // is set aside.
  struct stat held{}, there{};
  if (fstat(fd_, &held) == 0 && lstat(path_.c_str(), &there) == 0 && held.st_ino != there.st_ino)
    rename(path_.c_str(), (path_ + std::string(kFound)).c_str());
  TRY(made->publish());
  made->text_ += lines;
  return made;
}

Expected<std::string> JournalWriter::keepElsewhere() const {
  std::error_code failed;
  std::string folder = (std::filesystem::temp_directory_path(failed) / "expc-results-XXXXXX").string();
  // mkdtemp makes it for this user alone, since temporary folders are shared.
  if (failed || !mkdtemp(folder.data()))
    return failure("cannot make a folder for temporary files: {}", std::strerror(errno));
  std::filesystem::create_directory(pathOf(folder, ""), failed);
  TRY(files::write(pathOf(folder, file_.name), text_));
  return folder;
}

Error JournalWriter::publish() {
  TRY(sync());
  // Between create and publish somebody may have cleaned the folder up.
  if (isLost()) return failure("'{}' was removed or changed while expc wrote it; run the same command again", path_);
  const std::string path = pathOf(folder_, file_.name);
  if (rename(path_.c_str(), path.c_str()) != 0) return files::cannotWrite(folder_, errno);
  path_ = path;
  hidden_ = false;
  syncFolder(folder_);
  return Error::success();
}

Error JournalWriter::append(const Entry& entry, OnDisk when) {
  if (when != OnDisk::Sometime) TRY(awaitSync());
  // Two syncs cannot be under way at once, since an error must say where the durable part ends.
  const JournalFile before = file_;
  // One write for the whole line: a reader sees it as a whole or without its newline.
  TRY(add(toLine(entry) + "\n"));
  if (when != OnDisk::Sometime) before_sync_ = before, beginSync();
  return when == OnDisk::Now ? awaitSync() : Error::success();
}

Error JournalWriter::add(StringRef lines) {
  // A part of a line would make the next line unreadable, so it is cut off.
  if (const int error = files::writeAll(fd_, lines)) return cutTo(file_, error);
  // A hidden journal needs only its first line in memory: it is lost with its writer anyway.
  if (!hidden_ || text_.empty()) text_ += lines;
  file_.bytes += lines.size();
  return Error::success();
}

Error JournalWriter::sync() {
  before_sync_ = file_;
  beginSync();
  return awaitSync();
}

void JournalWriter::beginSync() {
  sync_ = std::make_unique<aiocb>();
  sync_->aio_fildes = fd_;
  sync_->aio_sigevent.sigev_notify = SIGEV_NONE;
  if (aio_fsync(O_DSYNC, sync_.get()) == 0) return;
  sync_.reset();  // no thread is available: sync here
  sync_error_ = fdatasync(fd_) == 0 ? 0 : errno;
}

Error JournalWriter::awaitSync() {
  if (sync_) {
    // aio_suspend also returns on a signal.
    const aiocb* const all[] = {sync_.get()};
    while (aio_error(sync_.get()) == EINPROGRESS) aio_suspend(all, 1, nullptr);
    sync_error_ = aio_error(sync_.get());
    aio_return(sync_.get());
    sync_.reset();
  }
  const int error = std::exchange(sync_error_, 0);
  return error ? cutTo(before_sync_, error) : Error::success();
}

/// Cuts the file back to `end`, so that it holds whole, durable lines; returns the error for the user. If the cut
/// fails too, the next writer seals the file at its last whole line.
Error JournalWriter::cutTo(const JournalFile& end, int error) {
  [[maybe_unused]] const int cut = ftruncate(fd_, off_t(end.bytes));
  file_ = end;
  text_.resize(std::min<size_t>(text_.size(), end.bytes));
  return files::cannotWrite(folder_, error);
}

}  // namespace expc::store
