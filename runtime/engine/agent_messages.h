#pragma once

// What an engine and the agents of its nodes say to each other: JSON objects, one a line.
//
// They meet by a file that only the user can read, with the engine's addresses and a secret. Each proves to the other
// that it knows the secret, which never crosses the network. Then the engine asks, one thing at a time: what the
// workers are (`describe`), to copy data (`copy`), and to begin (`begin`, once the run has its results folder); from
// then on it sends `start` and `kill`, and the agent sends `reports`. The agent ends with the connection, and all that
// it runs with it.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/launcher.h"

namespace expc::engine {

/// Both ends are of one build's tree or refuse each other.
inline constexpr int kAgentVersion = 1;

/// Where the engine is, and what is known to both.
struct MeetingPlace {
  std::vector<std::string> addresses;  // "HOST:PORT", in the order in which they are tried
  std::string secret;
};

/// Makes a file that only its owner can read. The error names it.
llvm::Error writeMeetingPlace(const std::string& path, const MeetingPlace& place);
/// The error says what a node has to have where the file is not there.
llvm::Expected<MeetingPlace> readMeetingPlace(const std::string& path);

/// 128 random bits, as hex digits.
std::string randomWord();
/// What who knows the secret can answer to two random words. `who`: "engine" or "agent", so that no answer serves
/// twice.
std::string proofOf(std::string_view secret, std::string_view who, std::string_view asked, std::string_view answered);

/// What an agent needs for its launcher.
struct AgentTask {
  std::string built_in, command;         // worker programs; "": not needed
  std::vector<std::string> environment;  // of the workers
  std::string log;                       // where the servers' own output goes
  bool watch_cards = false;              // by NVML
  unsigned lanes = 1;
  std::string devices;  // as `--devices`: what a lease is taken on
  std::string locks;    // folder of leases on the node; "": none are taken
  std::string owner;    // what others are told of the leases
};

llvm::json::Object toJson(const AgentTask& task);
llvm::Expected<AgentTask> agentTaskFromJson(const llvm::json::Value& value);

/// A trial's ranks on one node; without what only the engine needs.
llvm::json::Object toJson(const TrialRequest& request);
llvm::Expected<TrialRequest> trialRequestFromJson(const llvm::json::Value& value);

llvm::json::Object toJson(const RankReport& report);
llvm::Expected<RankReport> rankReportFromJson(const llvm::json::Value& value);

}  // namespace expc::engine
