#include <fmt/format.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <system_error>

#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/format/format.h"
#include "compiler/parse/parse.h"
#include "runtime/files/files.h"
#include "runtime/plan/printable.h"
#include "runtime/report/layout.h"

namespace expc::driver {

namespace {

namespace sys = llvm::sys;
namespace path = llvm::sys::path;

llvm::Error cannot(std::string_view what, const std::string& name, std::error_code code) {
  return llvm::createStringError(code, fmt::format("cannot {} {}: {}", what, name, code.message()));
}

/// Adds the .exp files of a folder and the folders in it, by name. Hidden ones (`.git`) are left alone, and so are
/// links: they lead to files of other folders.
llvm::Error addFolder(const std::string& folder, std::vector<std::string>& files) {
  std::vector<std::string> entries;
  std::error_code code;
  for (sys::fs::directory_iterator at(folder, code, /*follow_symlinks=*/false), end; !code && at != end;
       at.increment(code))
    entries.push_back(at->path());
  if (code) return cannot("read the folder", folder, code);
  std::sort(entries.begin(), entries.end());
  for (const std::string& entry : entries) {
    if (path::filename(entry).starts_with(".")) continue;
    sys::fs::file_status status;
    if (sys::fs::status(entry, status, /*follow=*/false)) continue;  // gone again
    if (sys::fs::is_directory(status)) {
      if (llvm::Error error = addFolder(entry, files)) return error;
    } else if (path::extension(entry) == ".exp" && sys::fs::is_regular_file(status)) {
      files.push_back(entry);
    }
  }
  return llvm::Error::success();
}

class Formatter {
 public:
  Formatter(const FmtOptions& options, const Console& console) : options_(options), console_(console) {}

  int run() {
    for (const std::string& name : options_.paths) addPath(name);
    for (const std::string& name : files_) formatFile(name);
    showDiagnostics(compilation_, console_);
    if (options_.check && changed_ > 0)
      console_.message(fmt::format("{} of {} would change: run `expc fmt` on {}", changed_,
                                   report::counted(files_.size(), "file"), changed_ == 1 ? "it" : "them"));
    return failed_ || (options_.check && changed_ > 0) ? kError : kSuccess;
  }

 private:
  static bool isInput(const std::string& name) { return name == "-"; }

  void addPath(const std::string& name) {
    if (isInput(name) || !sys::fs::is_directory(name)) {
      files_.push_back(name);
      return;
    }
    const size_t before = files_.size();
    if (llvm::Error error = addFolder(name, files_))
      fail(std::move(error));
    else if (files_.size() == before)
      fail(llvm::createStringError(fmt::format("there is no .exp file in the folder {}", name)));
  }

  void fail(llvm::Error error) {
    console_.error(std::move(error));
    failed_ = true;
  }

  void print(std::string_view text) { failed_ |= !console_.printRaw(text); }

  void formatFile(const std::string& name) {
    auto buffer =
        isInput(name) ? llvm::errorOrToExpected(llvm::MemoryBuffer::getSTDIN()) : files::read(name, files::kMostByHand);
    if (!buffer) return fail(llvm::createStringError("cannot read " + llvm::toString(buffer.takeError())));
    const std::string shown = isInput(name) ? "<stdin>" : plan::printable(name);
    diag::Emitter& emitter = compilation_.emitter;
    const auto file = parse::load(compilation_.sources, shown, (*buffer)->getBuffer().str(), emitter);
    const auto text = file ? format::format(compilation_.sources, *file, emitter) : std::nullopt;
    if (!text) {
      failed_ = true;
      return;
    }
    take(name, shown, compilation_.sources.text(*file), *text);
  }

  void take(const std::string& name, const std::string& shown, std::string_view before, const std::string& after) {
    const bool same = before == after;
    if (!same) ++changed_;
    if (options_.diff) return print(format::unifiedDiff(shown, before, after));
    if (options_.check) {
      if (!same) print(shown + "\n");
      return;
    }
    if (isInput(name)) return print(after);
    if (same) return;
    if (llvm::Error error = replaceFiles({{name, after}})) return fail(std::move(error));
    print(fmt::format("formatted {}\n", shown));
  }

  const FmtOptions& options_;
  const Console& console_;
  std::vector<std::string> files_;
  Compilation compilation_;
  size_t changed_ = 0;
  bool failed_ = false;
};

}  // namespace

int format(const FmtOptions& options, const Console& console) {
  const bool has_input = std::find(options.paths.begin(), options.paths.end(), "-") != options.paths.end();
  if (has_input && options.paths.size() > 1)
    return console.usage("'-' (standard input) cannot be formatted together with files");
  return Formatter(options, console).run();
}

}  // namespace expc::driver
