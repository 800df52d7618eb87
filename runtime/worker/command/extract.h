#pragma once

namespace expc::command {

/// `--extract FILE`: reads metrics out of kept outputs. The file is JSON: {"command", "metrics", "root", "outputs":
/// [path…]}; for each output an event line follows on standard output, `result` or `failed`. Returns the exit code.
int extract(const char* question);

}  // namespace expc::command
