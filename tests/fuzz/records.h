#pragma once

#include <string>

namespace expc::fuzz {

// Bytes as what a results folder of a stranger may hold. Whatever it is, it is refused in words, or read and judged.

/// A journal. Where a line is damaged only by its checksum, it gets one that fits. What is read is written and read
/// again as the same.
void readJournal(const std::string& bytes);
/// A file of SQLite: as an index, and as a store of before there were journals.
void readIndex(const std::string& bytes);

}  // namespace expc::fuzz
