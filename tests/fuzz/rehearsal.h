#pragma once

#include <string>

namespace expc::fuzz {

/// Bytes as a file of rehearsals: what is read is written and read again as the same; what is refused is refused in
/// words. Ends the process where that does not hold.
void readRehearsal(const std::string& bytes);

}  // namespace expc::fuzz
