#pragma once

#include <string>

namespace expc::fuzz {

// Bytes as a document of ours that a stranger may hand over. What is read is written and read again as the same; what
// is refused is refused in words. Each ends the process where that does not hold.

/// A plan.
void readPlan(const std::string& bytes);
/// A file of rehearsals.
void readRehearsal(const std::string& bytes);

/// A site file: whatever it holds, the script of its job has no more options than the file has settings.
void readSite(const std::string& bytes);
/// The file of a job.
void readJob(const std::string& bytes);

/// What a worker says of itself.
void readDescription(const std::string& bytes);

}  // namespace expc::fuzz
