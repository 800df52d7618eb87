#include <fmt/format.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include "compiler/diag/render.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/exit_codes.h"

namespace expc::driver {

int check(const CheckOptions& options, const Console& console) {
  Compilation compilation;
  compile(options.study, std::nullopt, console, compilation);
  if (!options.json) {
    showDiagnostics(compilation, console);
    return compilation.failed ? kError : kSuccess;
  }
  llvm::json::Array diagnostics;
  for (const diag::Diagnostic& diagnostic : compilation.diagnostics.diagnostics)
    diagnostics.push_back(diag::renderJson(compilation.sources, diagnostic));
  const llvm::json::Value document =
      llvm::json::Object{{"schema", "expc.diagnostics/1"}, {"diagnostics", std::move(diagnostics)}};
  if (!console.print(llvm::formatv("{0:2}\n", document).str())) return kError;
  return compilation.failed ? kError : kSuccess;
}

}  // namespace expc::driver
