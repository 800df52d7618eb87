#include "compiler/driver/replacement.h"

#include <fmt/format.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

namespace expc::driver {

namespace {

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// A new text beside its file, to be put in its place or discarded.
struct Draft {
  std::string name;
  llvm::SmallString<256> target;
  fs::TempFile file;
};

llvm::Error failure(const std::string& name, std::error_code code) {
  return llvm::createStringError(code, fmt::format("cannot write {}: {}", name, code.message()));
}

llvm::Error prepare(const std::string& name, const std::string& text, std::vector<Draft>& drafts) {
  llvm::SmallString<256> target;
  if (std::error_code code = fs::real_path(name, target)) return failure(name, code);
  if (std::error_code code = fs::access(target, fs::AccessMode::Write)) return failure(name, code);
  const llvm::ErrorOr<fs::perms> mode = fs::getPermissions(target);
  if (!mode) return failure(name, mode.getError());

  llvm::SmallString<256> model = path::parent_path(target);
  path::append(model, "." + path::filename(target) + ".%%%%%%%%");
  llvm::Expected<fs::TempFile> file = fs::TempFile::create(model, *mode);
  if (!file) return failure(name, llvm::errorToErrorCode(file.takeError()));
  const int descriptor = file->FD;
  drafts.push_back({name, target, std::move(*file)});
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/false);
  out << text;
  out.flush();
  std::error_code code = out.error();
  out.clear_error();
  if (!code) code = fs::setPermissions(descriptor, *mode);  // past the umask
  if (!code && fsync(descriptor) != 0) code = std::error_code(errno, std::generic_category());
  return code ? failure(name, code) : llvm::Error::success();
}

}  // namespace

llvm::Error replaceFiles(const std::map<std::string, std::string>& texts) {
  std::vector<Draft> drafts;
  llvm::Error failed = llvm::Error::success();
  for (const auto& [name, text] : texts)
    if (!failed) failed = prepare(name, text, drafts);
  for (Draft& draft : drafts) {
    if (failed)
      llvm::consumeError(draft.file.discard());
    else if (llvm::Error error = draft.file.keep(draft.target))
      failed = failure(draft.name, llvm::errorToErrorCode(std::move(error)));
  }
  return failed;
}

}  // namespace expc::driver
