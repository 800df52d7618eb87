// Reads and writes checkpoints. A checkpoint is written into a folder of another name (".partial-PID"), which is
// renamed once everything is on disk: so a folder with the final name is complete. Digests of all files find what
// happened to them later.

#include "runtime/worker/workload/checkpoint.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/worker/model/state_file.h"

namespace expc::workload {
namespace {

using json::Object;
namespace fs = llvm::sys::fs;

// Raised when older checkpoints cannot be continued any more; they are then refused, never misread.
constexpr int64_t kFormat = 1;
constexpr char kModel[] = "model.safetensors";
constexpr char kState[] = "state.safetensors";
constexpr char kContent[] = "checkpoint.json";
constexpr char kPartial[] = ".partial-";

/// The digest of an object in its canonical form, which does not depend on the order in which fields were added.
std::string digestOfJson(const Object& object) {
  return safetensors::digestOf({llvm::arrayRefFromStringRef(canonicalJson(Object(object)))});
}

/// The error for any damage. It names the way out: without this folder the trial continues from an older checkpoint.
Error damaged(const std::string& folder, const std::string& what) {
  return failure("the checkpoint is damaged: {}. Remove {}: the trial then continues from an older one, or starts over",
                 what, folder);
}

/// The content of checkpoint.json, if it matches its digest.
Expected<Object> readContent(const std::string& folder) {
  const std::string path = folder + "/" + kContent;
  auto file = files::read(path);
  if (!file) return damaged(folder, toString(file.takeError()));
  auto value = parseJson((*file)->getBuffer());
  if (!value) return damaged(folder, path + ": " + toString(value.takeError()));
  const Object* object = value->getAsObject();
  const Object* content = object ? object->getObject("content") : nullptr;
  const auto digest = object ? object->getString("digest") : std::nullopt;
  if (!content || !digest) return damaged(folder, path + " has no content and digest");
  if (*digest != digestOfJson(*content)) return damaged(folder, path + " differs from its digest");
  return *content;
}

/// A file of tensors, if its bytes match the digest in `content`.
Expected<safetensors::File> readTensors(const std::string& folder, const Object& content, const char* name) {
  const std::string path = folder + "/" + name;
  auto file = safetensors::File::open(path);
  if (!file) return damaged(folder, toString(file.takeError()));
  const Object* files = content.getObject("files");
  const auto digest = files ? files->getString(name) : std::nullopt;
  if (!digest || *digest != file->digest()) return damaged(folder, path + " differs from its digest");
  return std::move(*file);
}

/// The facts that differ, as texts like "threads 2 there, 1 here".
std::vector<std::string> differences(const Object& there, const Object& here) {
  std::set<std::string> names;
  for (const Object* object : {&there, &here})
    for (const auto& entry : *object) names.insert(entry.first.str());
  std::vector<std::string> result;
  for (const std::string& name : names) {
    const auto theirs = there.getString(name), ours = here.getString(name);
    if (theirs == ours) continue;
    result.push_back(
        fmt::format("{} {} there, {} here", name, theirs ? theirs->str() : "none", ours ? ours->str() : "none"));
  }
  return result;
}

}  // namespace

CheckpointFolder::CheckpointFolder(const std::string& folder, TrialIdentity identity)
    : path_(folder + "/" + identity.name), identity_(std::move(identity)) {}

std::string CheckpointFolder::epochPath(int64_t epochs) const { return fmt::format("{}/epoch-{:06}", path_, epochs); }

std::vector<int64_t> CheckpointFolder::present() const {
  // Other names, such as partial folders and what a workload left, are skipped.
  std::vector<int64_t> result;
  std::error_code code;
  for (fs::directory_iterator at(path_, code), end; !code && at != end; at.increment(code)) {
    StringRef name = llvm::sys::path::filename(at->path());
    int64_t epochs = 0;
    if (name.consume_front("epoch-") && !name.getAsInteger(10, epochs) && epochs > 0) result.push_back(epochs);
  }
  std::ranges::sort(result);
  return result;
}

Expected<std::optional<CheckpointFolder::Checkpoint>> CheckpointFolder::newest() const {
  const std::vector<int64_t> epochs = present();
  if (epochs.empty()) return std::optional<Checkpoint>();
  const std::string folder = epochPath(epochs.back());
  auto content = TRY(readContent(folder));
  const Object* facts = content.getObject("trial");
  const Object* own = content.getObject("own");
  if (content.getInteger("format") != kFormat || !facts || !own || content.getInteger("epochs") != epochs.back())
    return failure("{}/{} is not in format {} of this build. Remove {} to start the trial over", folder, kContent,
                   kFormat, path_);
  // Compare facts before reading tensors: a message about another trial helps more than one about its files.
  const auto differing = differences(*facts, identity_.facts);
  if (!differing.empty())
    return failure(
        "{} was written by another trial ({}), and continuing would mix the two. Remove it to start the trial over, or "
        "name another folder in `checkpoints`",
        folder, fmt::join(differing, "; "));
  auto model = TRY(readTensors(folder, content, kModel));
  auto state = TRY(readTensors(folder, content, kState));
  return Checkpoint{folder, epochs.back(), std::move(model), std::move(state), *own};
}

Error CheckpointFolder::prepare() {
  // create_directories() accepts a file of that name, so check for it.
  auto code = fs::create_directories(path_, true, fs::all_all);
  if (!code && !fs::is_directory(path_)) code = std::make_error_code(std::errc::not_a_directory);
  if (code) return failure("cannot write checkpoints in {}: {}. Name a writable folder", path_, code.message());
  // Lock the folder itself, so that no lock file lies in it. The system releases the lock when the process ends,
  // however it does. If the folder cannot be opened, save() will say so.
  lock_.close();
  lock_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return failure("another process is running this trial in {}: wait for it, or name another folder in `checkpoints`",
                   path_);
  // Nobody else is here now, so partial folders are those of processes that died. List first, then remove: a
  // directory must not change while it is read.
  std::vector<std::string> leftovers;
  for (fs::directory_iterator at(path_, code), end; !code && at != end; at.increment(code))
    if (StringRef(at->path()).contains(kPartial)) leftovers.push_back(at->path());
  for (const std::string& leftover : leftovers) files::removeTree(leftover);
  std::vector<int64_t> older = present();
  // save() removes the older checkpoint only at its end, so an interruption there leaves two.
  if (!older.empty()) older.pop_back();
  for (const int64_t epochs : older) files::removeTree(epochPath(epochs));
  return Error::success();
}

Error CheckpointFolder::save(int64_t epochs, const std::vector<model::NamedTensor>& model,
                             const std::vector<model::NamedTensor>& state, Object own) const {
  // Nothing older is removed until the new checkpoint has its final name.
  const std::vector<int64_t> older = present();
  const std::string folder = epochPath(epochs), partial = fmt::format("{}{}{}", folder, kPartial, ::getpid());
  auto written = [&]() -> Error {
    TRY(model::makeFolder(partial));
    // saveState() returns the digest of what it wrote, so files need not be read again.
    auto model_digest = TRY(model::saveState(partial + "/" + kModel, model));
    auto state_digest = TRY(model::saveState(partial + "/" + kState, state));
    Object content{{"format", kFormat},
                   {"epochs", epochs},
                   {"trial", Object(identity_.facts)},
                   {"files", Object{{kModel, model_digest}, {kState, state_digest}}},
                   {"own", std::move(own)}};
    std::string digest = digestOfJson(content);
    const std::string text =
        canonicalJson(Object{{"content", std::move(content)}, {"digest", std::move(digest)}}) + "\n";
    TRY(files::write(partial + "/" + kContent, text));
    return files::move(partial, folder);
  }();
  if (written) {
    files::removeTree(partial);
    // A failed save leaves the older checkpoint; say so, for it decides what the user does next.
    const std::string kept =
        older.empty()
            ? "a repeated trial starts over"
            : fmt::format("the one after epoch {} is intact, and a repeated trial continues from it", older.back());
    return failure("cannot write the checkpoint after epoch {}: {}. Free space there, or leave out `checkpoints`; {}",
                   epochs, std::move(written), kept);
  }
  for (const int64_t epoch : older) files::removeTree(epochPath(epoch));
  return Error::success();
}

Expected<std::string> CheckpointFolder::finish(int64_t epochs) const {
  const std::string from = epochPath(epochs) + "/" + kModel, to = path_ + "/" + kModel;
  TRY(files::move(from, to));
  clear();
  return to;
}

void CheckpointFolder::clear() const {
  for (const int64_t epoch : present()) files::removeTree(epochPath(epoch));
}

}  // namespace expc::workload
