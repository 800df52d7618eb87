#pragma once

#include <string>

namespace expc::fuzz {

// Bytes as what programs that are not ours write, and what a study says of it.

/// The first line as a pattern, a JSON pointer and the name of a column; the rest as the output that it is looked for
/// in. Every value found is finite.
void readOutput(const std::string& bytes);
/// What a worker says: events, line by line, what its server answers, and what it is asked. What is read is written and
/// read again as the same.
void readWords(const std::string& bytes);

}  // namespace expc::fuzz
