#include "compiler/driver/replacement.h"

#include <fmt/format.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace expc::driver {

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

Replacement::Replacement(Replacement&& other) noexcept
    : name_(std::move(other.name_)),
      target_(std::move(other.target_)),
      file_(std::exchange(other.file_, std::nullopt)) {}

Replacement::~Replacement() {
  if (file_) llvm::consumeError(file_->discard());
}

llvm::Error Replacement::failure(std::error_code code) const {
  return llvm::createStringError(code, fmt::format("cannot write {}: {}", name_, code.message()));
}

llvm::Error Replacement::prepare(const std::string& text) {
  if (std::error_code code = fs::real_path(name_, target_)) return failure(code);
  if (std::error_code code = fs::access(target_, fs::AccessMode::Write)) return failure(code);
  const llvm::ErrorOr<fs::perms> mode = fs::getPermissions(target_);
  if (!mode) return failure(mode.getError());

  llvm::SmallString<256> model = path::parent_path(target_);
  path::append(model, "." + path::filename(target_) + ".%%%%%%%%");
  llvm::Expected<fs::TempFile> file = fs::TempFile::create(model, *mode);
  if (!file) return failure(llvm::errorToErrorCode(file.takeError()));
  file_ = std::move(*file);
  llvm::raw_fd_ostream out(file_->FD, /*shouldClose=*/false);
  out << text;
  out.flush();
  std::error_code code = out.error();
  out.clear_error();
  if (!code) code = fs::setPermissions(file_->FD, *mode);  // past the umask
  if (!code && fsync(file_->FD) != 0) code = std::error_code(errno, std::generic_category());
  return code ? failure(code) : llvm::Error::success();
}

llvm::Error Replacement::commit() {
  llvm::Error error = file_->keep(target_);
  file_.reset();
  return error ? failure(llvm::errorToErrorCode(std::move(error))) : llvm::Error::success();
}

}  // namespace expc::driver
