#pragma once

#include <string>

namespace expc::lsp {

/// Serves one client over two descriptors until it says `exit` or goes away; the process's exit code. `version` is what
/// the server calls itself.
int serve(int input, int output, const std::string& version);

}  // namespace expc::lsp
