#pragma once

#include <string>

namespace expc::fuzz {

/// Bytes as what stands on a command line (their first line) and as the study that it names (the rest). Whatever they
/// are, a word that is offered is one line without control characters, goes on with what is typed, and is offered again
/// where it is typed as a shell quotes it.
void completeWords(const std::string& bytes);

}  // namespace expc::fuzz
