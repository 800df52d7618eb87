#pragma once

#include <string>

namespace expc::fuzz {

/// Bytes as what callers say at the port where agents meet, each as far as the next empty line. One that says PROOF
/// knows the secret. Whatever the others say, none of them is let in, and the agent that comes after them is.
void greet(const std::string& bytes);
/// Bytes as lines that an engine and its agents say to each other once they have met.
void readAgentWords(const std::string& bytes);

}  // namespace expc::fuzz
