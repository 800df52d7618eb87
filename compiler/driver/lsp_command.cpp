#include <unistd.h>

#include "compiler/driver/commands.h"
#include "compiler/driver/version.h"
#include "compiler/lsp/server.h"

namespace expc::driver {

int lsp(const LspOptions&, const Console& console) {
  if (isatty(STDIN_FILENO) == 1)
    console.message(
        "expc lsp speaks with an editor over standard input and output; docs/editors.md says how to set one up");
  return expc::lsp::serve(STDIN_FILENO, STDOUT_FILENO, std::string(kVersion));
}

}  // namespace expc::driver
