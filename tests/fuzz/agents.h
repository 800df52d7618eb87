#pragma once

#include <string>

namespace expc::fuzz {

/// Bytes as what comes over the standard streams of an agent, and its lines as messages of an engine and its agents.
void readAgentWords(const std::string& bytes);

}  // namespace expc::fuzz
