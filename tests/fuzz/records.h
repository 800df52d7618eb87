#pragma once

#include <string>

namespace expc::fuzz {

/// Bytes as the journal of a stranger's results folder: refused in words, or read, judged and exported. Where a line is
/// damaged only by its checksum, it gets one that fits. What is read is written and read again as the same.
void readJournal(const std::string& bytes);

}  // namespace expc::fuzz
