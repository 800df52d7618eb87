// `expc fmt`: gives study files the one layout, in place, or shows what would change. The layout is made by
// compiler/format; this file finds the files, and writes each whole or not at all. An error in one file does not keep
// the others from being formatted, but decides the exit code.

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <system_error>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "compiler/format/format.h"
#include "compiler/parse/parse.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/printable.h"
#include "runtime/base/text.h"

namespace expc::cli {

namespace {

namespace sys = llvm::sys;
namespace path = llvm::sys::path;

/// Adds the .exp files of a folder and of its subfolders, sorted by name. Hidden entries (`.git`) are skipped, and so
/// are links: they lead to files that belong to other folders.
Error addFolder(const std::string& folder, std::vector<std::string>& files) {
  std::vector<std::string> entries;
  std::error_code code;
  for (sys::fs::directory_iterator at(folder, code, /*follow_symlinks=*/false), end; !code && at != end;
       at.increment(code))
    entries.push_back(at->path());
  if (code) return failure("cannot read the folder {}: {}", folder, code.message());
  std::ranges::sort(entries);
  for (const std::string& entry : entries) {
    if (path::filename(entry).starts_with(".")) continue;
    sys::fs::file_status status;
    if (sys::fs::status(entry, status, /*follow=*/false)) continue;  // gone again
    if (sys::fs::is_directory(status)) {
      TRY(addFolder(entry, files));
    } else if (path::extension(entry) == ".exp" && sys::fs::is_regular_file(status)) {
      files.push_back(entry);
    }
  }
  return Error::success();
}

/// Adds a file as it is named, or all .exp files of a folder; a folder without any is an error, since it is hardly
/// meant.
Error addPath(const std::string& name, std::vector<std::string>& files) {
  const size_t before = files.size();
  if (name == "-" || !sys::fs::is_directory(name))
    files.push_back(name);
  else
    TRY(addFolder(name, files));
  if (files.size() > before) return Error::success();
  return failure("no .exp file in the folder {}", name);
}

/// Formats one file as `options` say, and counts it in `changed` if its layout differs.
Exit formatFile(const std::string& name, const FmtOptions& options, const Console& console, Compilation& compilation,
                size_t& changed) {
  const bool is_input = name == "-";
  auto buffer =
      is_input ? llvm::errorOrToExpected(llvm::MemoryBuffer::getSTDIN()) : files::read(name, files::kMostByHand);
  if (!buffer) return failure("cannot read {}", buffer.takeError());
  // Printable, since the name stands in messages and in the diff's header.
  const std::string shown = is_input ? "<stdin>" : base::printable(name);
  const auto file = parse::load(compilation.sources, shown, (*buffer)->getBuffer().str(), compilation.emitter);
  const auto after = file ? format::format(compilation.sources, *file, compilation.emitter) : std::nullopt;
  if (!after) return kError;
  const std::string_view before = compilation.sources.text(*file);
  const bool same = before == *after;
  if (!same) ++changed;
  const auto print = [&](std::string_view text) { return console.printRaw(text) ? kSuccess : kError; };
  if (options.diff) return print(format::unifiedDiff(shown, before, *after));
  if (options.check) return same ? kSuccess : print(shown + "\n");
  if (is_input) return print(*after);
  if (same) return kSuccess;
  TRY(replaceFiles({{name, *after}}));
  return print(fmt::format("formatted {}\n", shown));
}

}  // namespace

Exit format(const FmtOptions& options, const Console& console) {
  if (is_contained(options.paths, "-") && options.paths.size() > 1)
    return usage("'-' (standard input) cannot be formatted together with files");
  Compilation compilation;
  std::vector<std::string> files;
  size_t changed = 0;
  int code = kSuccess;
  for (const std::string& name : options.paths)
    if (Error error = addPath(name, files)) code = console.error(std::move(error));
  for (const std::string& name : files)
    code = worse(code, console.codeOf(formatFile(name, options, console, compilation, changed)));
  // Mistakes of all files come together, at the end.
  showDiagnostics(compilation, console);
  if (!options.check || changed == 0) return code;
  console.message("{} of {} would change: run `expc fmt` on {}", changed, base::counted(files.size(), "file"),
                  changed == 1 ? "it" : "them");
  return kError;
}

}  // namespace expc::cli
