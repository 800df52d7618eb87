#include "runtime/bundle/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <llvm/ADT/ScopeExit.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/JSON.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"
#include "runtime/files/files.h"
#include "runtime/store/match.h"

namespace expc::bundle {
namespace {

namespace fs = std::filesystem;

using Archive = std::unique_ptr<archive, int (*)(archive*)>;
using Entry = std::unique_ptr<archive_entry, void (*)(archive_entry*)>;

// A journal is packed to a fortieth or so, inputs (kMostOfInputs) may be of zeros alone. Every file has its digest of
// 32 bytes in the manifest, which nothing packs, and may lie in a folder of its own.
constexpr uint64_t kMostBytes = (8 << 20) + kMostOfInputs, kMostPacked = 300, kMostEntries = 1000, kLeastOfEntry = 16;
constexpr size_t kLongestName = 4096;

/// Names are UTF-8 in the archive, whatever the locale is: libarchive asks that of the thread. It ends with what this
/// gives.
auto utf8Names() {
  const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr), before = uselocale(utf8);
  return llvm::make_scope_exit([=] {
    uselocale(before);
    if (utf8) freelocale(utf8);
  });
}

llvm::Error errorOf(const std::string& path, archive* of) {
  const char* why = archive_error_string(of);
  return base::failure("{}: {}", path, why ? why : "cannot be read as an archive");
}

llvm::Error add(archive* out, const std::string& path, const std::string& folder, const std::string& name) {
  auto content = files::read(folder + "/" + name);
  if (!content) return content.takeError();
  const Entry entry(archive_entry_new(), archive_entry_free);
  archive_entry_set_pathname(entry.get(), name.c_str());
  if (!llvm::json::isUTF8(name))
    return base::failure("a file's name is not UTF-8, so no archive can hold it: give '{}' another one",
                         llvm::json::fixUTF8(name));
  archive_entry_set_size(entry.get(), int64_t((*content)->getBufferSize()));
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), access((folder + "/" + name).c_str(), X_OK) == 0 ? 0755 : 0644);
  archive_entry_set_mtime(entry.get(), 0, 0);
  if (archive_write_header(out, entry.get()) != ARCHIVE_OK) return errorOf(path, out);
  const auto written = archive_write_data(out, (*content)->getBufferStart(), (*content)->getBufferSize());
  if (written != la_ssize_t((*content)->getBufferSize())) return errorOf(path, out);
  return llvm::Error::success();
}

bool staysInside(const fs::path& name) {
  if (name.empty() || name.is_absolute() || name.native().size() > kLongestName) return false;
  for (const fs::path& part : name)
    if (part == ".." || part == "." || part.empty()) return false;
  return true;
}

/// One file of an archive, piece by piece.
llvm::Error takeOut(archive* in, archive_entry* entry, const std::string& path, const fs::path& target,
                    uint64_t& left) {
  std::error_code failed;
  fs::create_directories(target.parent_path(), failed);
  const base::Descriptor out(files::openLog(target.string()));
  if (out < 0) return files::systemError(target.string(), errno);
  struct stat state{};
  if (archive_entry_perm(entry) & S_IXUSR && ::fstat(out, &state) == 0)  // whoever may read it may run it
    ::fchmod(out, (state.st_mode | (state.st_mode & 0444) >> 2) & 0777);
  const void* piece = nullptr;
  size_t size = 0;
  la_int64_t offset = 0, at = 0;
  int code = ARCHIVE_OK;
  while ((code = archive_read_data_block(in, &piece, &size, &offset)) == ARCHIVE_OK) {
    if (offset != at) return base::failure("{}: holds a file with holes", path);
    if (size > left) return base::failure("{}: holds more than is taken out of a bundle", path);
    left -= size;
    at += la_int64_t(size);
    if (const int error = files::writeAll(out, {static_cast<const char*>(piece), size}))
      return files::systemError(target.string(), error);
  }
  return code == ARCHIVE_EOF ? llvm::Error::success() : errorOf(path, in);
}

}  // namespace

llvm::Expected<std::set<std::string>> filesBelow(const std::string& folder) {
  std::set<std::string> names;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (at->is_regular_file(failed) && !at->is_symlink()) names.insert(at->path().lexically_relative(folder).string());
  if (failed) return base::failure("{}: {}", folder, failed.message());
  return names;
}

llvm::Error pack(const std::string& folder, const std::string& path) {
  auto names = filesBelow(folder);
  if (!names) return names.takeError();
  if (files::isThere(path)) return base::failure("{}: is there already; name a file that is not", path);
  return files::writeBy(path, [&](const std::string& temporary) -> llvm::Error {
    const auto names_as_they_are = utf8Names();
    const Archive out(archive_write_new(), archive_write_free);
    if (archive_write_set_format_pax_restricted(out.get()) != ARCHIVE_OK ||
        archive_write_add_filter_zstd(out.get()) != ARCHIVE_OK)
      return errorOf(path, out.get());
    if (archive_write_open_filename(out.get(), temporary.c_str()) != ARCHIVE_OK)
      return files::systemError(path, archive_errno(out.get()));
    for (const std::string& name : *names)
      if (auto error = add(out.get(), path, folder, name)) return error;
    return archive_write_close(out.get()) == ARCHIVE_OK ? llvm::Error::success() : errorOf(path, out.get());
  });
}

llvm::Error unpack(const std::string& path, const std::string& folder) {
  const auto names_as_they_are = utf8Names();
  std::error_code failed;
  const uint64_t size = fs::is_regular_file(path, failed) ? fs::file_size(path, failed) : 0;
  if (size == 0) return base::failure("{}: is no file that holds anything", path);
  const Archive in(archive_read_new(), archive_read_free);
  if (archive_read_support_format_tar(in.get()) != ARCHIVE_OK ||
      archive_read_support_filter_zstd(in.get()) != ARCHIVE_OK ||
      archive_read_open_filename(in.get(), path.c_str(), 1 << 16) != ARCHIVE_OK)
    return errorOf(path, in.get());
  std::set<std::string> seen;  // files and the folders that they lie in
  uint64_t left = kMostBytes + kMostPacked * size;
  archive_entry* entry = nullptr;
  int code = ARCHIVE_OK;
  while ((code = archive_read_next_header(in.get(), &entry)) == ARCHIVE_OK) {
    const char* named = archive_entry_pathname(entry);
    const std::string name = named ? named : "";
    const bool plain = archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry);
    if (!plain || !staysInside(name) || !seen.insert(name).second)
      return base::failure("{}: holds '{}', which is no plain file of a bundle", path, name.substr(0, 200));
    for (fs::path above = fs::path(name).parent_path(); !above.empty() && seen.insert(above / "").second;)
      above = above.parent_path();
    if (seen.size() > kMostEntries + size / kLeastOfEntry)
      return base::failure("{}: holds more files and folders than a bundle of its size has", path);
    if (auto error = takeOut(in.get(), entry, path, fs::path(folder) / name, left)) return error;
  }
  return code == ARCHIVE_EOF ? llvm::Error::success() : errorOf(path, in.get());
}

llvm::Expected<std::string> digestOf(const std::string& path) {
  auto content = files::read(path);
  if (!content) return content.takeError();
  llvm::BLAKE3 hasher;
  hasher.update((*content)->getBuffer());
  return llvm::toHex(hasher.final<32>(), /*LowerCase=*/true);
}

// ---- the store in it

namespace {

using Numbers = std::map<int64_t, int64_t>;  // old number -> new number

llvm::Error keep(llvm::Expected<int64_t> made, int64_t& number) {
  if (made) number = *made;
  return made.takeError();
}

/// The run that is asked about, and those that judged before: they count as looks on the other machine too. Of the
/// others' plans nothing is needed but what their ends say; one that does not say it stays a run of which it is not
/// known.
llvm::Error addRuns(store::Store& into, const plan::Plan& plan, store::Run run, const store::Results& results,
                    Numbers& runs) {
  const auto add = [&](int64_t old, const store::Run& one) -> llvm::Error {
    if (auto error = keep(into.addRun(one), runs[old])) return error;
    const store::Outcome killed{store::Outcome::Killed};
    return into.endRun(runs[old], one.ended, one.outcome.value_or(killed), one.judged);
  };
  const std::string plan_json = plan::canonicalJson(plan::toJson(plan));
  for (const store::PastLook& look : results.looks) {
    if (look.run >= run.id) break;
    store::Run before = run;
    using Outcome = store::Outcome;
    before.outcome = Outcome{look.at_look ? Outcome::AtLook : look.said ? Outcome::Complete : Outcome::Interrupted};
    before.judged = look.judged;
    before.plan_json = look.judged ? plan_json : "{}";
    if (auto error = add(look.run, before)) return error;
  }
  run.plan_json = plan_json;
  if (!run.judged && run.outcome) run.judged = store::judgedOf(plan);
  return add(run.id, run);
}

llvm::Error addAll(const store::Store& from, store::Store& into, const plan::Plan& plan, store::Run run,
                   const store::Results& results, const Anonymous* hidden) {
  Numbers sessions, blocks, runs;
  for (store::Session session : results.sessions) {
    if (hidden) hidden->apply(session);
    const int64_t old = session.id;
    if (auto error = keep(into.addSession(std::move(session)), sessions[old])) return error;
  }
  run.session = sessions.count(run.session) ? sessions[run.session] : sessions.begin()->second;
  if (hidden)  // names of files and values of variables, which only explain
    std::erase_if(run.match.data_digests, [](const auto& entry) { return store::isPartKey(entry.first); });
  if (auto error = addRuns(into, plan, std::move(run), results, runs)) return error;
  for (const store::Block& block : results.blocks) {
    store::BlockPlan planned = from.contents().blocks.at(block.id);
    planned.block.session = sessions[block.session];
    if (auto error = keep(into.addBlock(std::move(planned)), blocks[block.id])) return error;
  }
  for (store::Trial trial : results.trials) {
    if (hidden) hidden->apply(trial);
    trial.session = sessions[trial.session];
    trial.block = blocks[trial.block];
    const auto at = runs.lower_bound(trial.run);  // a look sees what was measured up to it
    trial.run = at == runs.end() ? runs.rbegin()->second : at->second;
    const int64_t old = trial.id;
    if (auto error = keep(into.beginTrial(trial), trial.id)) return error;
    // Names of people may stand in what programs write.
    if (!hidden)
      if (auto error = store::copyOutput(from.folder(), old, into.folder(), trial.id)) return error;
    if (auto error = into.endTrial(trial, {trial.started + trial.seconds, 0})) return error;
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Error writeExcerpt(const store::Store& from, const plan::Plan& plan, const store::Run& run,
                         const store::Results& results, const std::string& folder, const Anonymous* hidden) {
  if (results.trials.empty())
    return llvm::createStringError("nothing was measured that counts for the study: run it first");
  std::vector<std::string> messages;
  auto into = store::Store::openForWriting(folder, messages);
  if (!into) return into.takeError();
  if (auto error = into->beginWhole()) return error;
  if (auto error = addAll(from, *into, plan, run, results, hidden)) return error;
  return into->close();
}

}  // namespace expc::bundle
