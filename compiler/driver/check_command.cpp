#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include "compiler/diag/render.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/fix.h"
#include "compiler/driver/version.h"
#include "compiler/explain/sarif.h"

namespace expc::driver {

namespace {

llvm::json::Value document(const Compilation& compilation, CheckFormat format) {
  if (format == CheckFormat::Sarif)
    return explain::sarifLog(compilation.sources, compilation.diagnostics.diagnostics, kVersion);
  llvm::json::Array diagnostics;
  for (const diag::Diagnostic& diagnostic : compilation.diagnostics.diagnostics)
    diagnostics.push_back(diag::renderJson(compilation.sources, diagnostic));
  return llvm::json::Object{{"schema", "expc.diagnostics/1"}, {"diagnostics", std::move(diagnostics)}};
}

}  // namespace

int check(const CheckOptions& options, const Console& console) {
  if (options.diff && options.format != CheckFormat::Text)
    return console.usage("--diff and --format both say what standard output holds; give one of them");
  auto owned = std::make_unique<Compilation>();
  if (!options.fix)
    verify(options.study, load::FileSystem::real(), console, *owned);
  else if (!fix(options.study, options.diff, console, owned))
    return kError;
  Compilation& compilation = *owned;
  const int code = compilation.code();
  if (options.format == CheckFormat::Text) {
    showDiagnostics(compilation, console);
    return code;
  }
  return console.printRaw(llvm::formatv("{0:2}\n", document(compilation, options.format)).str()) ? code : kError;
}

}  // namespace expc::driver
