#pragma once

// Messages between engine and worker: a trial's specification in, events out, each a JSON line with a schema version;
// and the messages of the launch channel (`expc-worker --serve`). described.h has their fields.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/note.h"
#include "runtime/plan/plan.h"

namespace expc::plan {

inline constexpr int kTrialVersion = 1;

/// The workload of a launch that is no trial: each rank keeps the device of its slot busy, by itself, for the setting
/// "seconds". The result of rank 0 has no metrics. Every worker that drives devices understands it; it is not among the
/// workloads that `--describe` lists.
inline constexpr std::string_view kHeatUp = "expc.heat_up";

/// Bytes that a rank may log, or a command write to either of its outputs, if a run does not say otherwise.
inline constexpr uint64_t kLogLimit = 1ull << 30;
/// "10 MB (--log-limit)": the limit that was met, and where it is set.
std::string logLimitText(uint64_t bytes);

/// One trial, the same for all its ranks. The ranks find each other by RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR,
/// MASTER_PORT.
struct TrialSpec {
  std::string trial;  // id in the store, for logs
  std::string point;
  std::string workload;  // "image.mobilenet_v2"
  int workload_version = 1;
  /// The user's program, for expc-worker-command: one process on each node whatever it starts itself, so a rank is a
  /// node, with one slot that holds all devices and cores there.
  std::optional<Command> command;
  std::string folder;    // of a command: its working directory, absolute; "" else
  std::string prepared;  // of a command: the folder that its preparation has filled, absolute; "" without one
  std::string outputs;   // of a command: the file that its output is kept in, absolute; "": it is not kept
  TrialKind kind = TrialKind::Timed;
  llvm::json::Object settings;  // steps, warmup, epochs
  llvm::json::Object parameters;
  std::string root;                  // relative paths in parameters start here
  uint64_t seed = 0;                 // the block's seed: initial weights, data order, dropout
  std::vector<std::string> metrics;  // asked for
  unsigned world_size = 1;
  /// For each rank: what it owns, e.g. {"device":"cpu","cores":[0]} or {"device":"cuda","index":0,"cores":[0,1]}. A
  /// trial of one rank may have several: that rank drives them all.
  llvm::json::Array slots;
  uint64_t memory_limit = 0;       // bytes that a rank and what it starts may take of the host's memory; 0: no limit
  uint64_t log_limit = kLogLimit;  // bytes of a rank's log, or of either output of a command, before it is ended
  /// On null cards: what the steps take and do is counted, the result says it in `rehearsed`, and no value matters, so
  /// that weights are neither drawn nor read.
  bool rehearsal = false;
};

/// Calls of one kind and the bytes that they moved.
struct Traffic {
  uint64_t calls = 0, bytes = 0;
};

/// The resources and work of one rank. Counts, bytes and operations are of all counted steps together.
struct RehearsedRank {
  uint64_t host_memory = 0;  // bytes, most resident since its start
  /// Bytes, most in the counted steps as torch's allocator counts them; of several devices, of the one with most.
  uint64_t device_memory_allocated = 0, device_memory_reserved = 0;
  uint64_t launches = 0;          // of kernels, graphs counted by what they hold
  uint64_t synchronisations = 0;  // calls in which the host waits for a device
  Traffic to_device, from_device, within_devices;
  std::map<std::string, Traffic> collectives;  // by name: "all_reduce"; bytes of the rank's own buffer
  double host_seconds = 0;                     // processor time of the threads that launch
  /// Floating-point operations of matrix products, convolutions and attention by the type of what they read: "bf16".
  std::map<std::string, double> operations;
  double memory_bytes = 0;  // that operators read and write and no cache of the device can hold
};

/// The result of a rehearsed trial: a few steps of the real worker on simulated GPUs, counted. Nothing in it is a
/// measurement.
struct Rehearsed {
  unsigned steps = 1;  // that were counted
  std::vector<RehearsedRank> ranks;
};

/// Events a worker writes, one JSON object a line: {"v":1,"event":"…",…}. Rank 0 speaks for the trial; others send only
/// `failed`. A trial ended well iff rank 0 sent `result` and every rank exited with 0.
struct Event {
  enum class Type {
    Started,     // process is up: {"pid"}
    Progress,    // {"done","total","phase"}: phase "load", "warmup", "steps", "epoch", "evaluate"
    Result,      // {"metrics":{name:value}, "series":{name:[..]}, "environment":{..}, "notes":[..]}
    Infeasible,  // out of memory: {"reason"}
    Failed       // {"reason"}: one line that names the place and the way out; {"lost":true} too when it is another
                 // rank's failure that this one noticed
  } type = Type::Started;
  uint64_t done = 0, total = 0;
  std::string phase = {};
  std::string reason = {};
  bool lost_others = false;
  bool names_rank = false;  // the reason says which rank it is of
  /// Values of all metrics that were asked for: a number in base units, or null if this device cannot give it. A value
  /// that is not finite diverged: it is NaN or an infinity here, and as jsonNumber writes it in the line.
  llvm::json::Object metrics = {};
  llvm::json::Object series = {};
  llvm::json::Object environment = {};  // threads, allocator, libraries, what influences the time
  std::vector<Note> notes = {};
  std::optional<Rehearsed> rehearsed = {};  // of a rehearsal's result
};

std::string toLine(const Event& event);  // without the newline
/// The error says what is wrong with the line; a line that is no event is the worker's fault, never a crash.
llvm::Expected<Event> eventFromLine(std::string_view line);

/// Launch channel: the engine starts `expc-worker --serve FD` once a session (FD: a SOCK_SEQPACKET unix socket), which
/// loads what is slow to load and forks one child for each request. One JSON message a packet; a `launch` packet
/// carries two descriptors (SCM_RIGHTS): the write end of the event pipe and the log file. A packet {"v":1,"kill":ID}
/// kills the process group of launch ID. When the socket closes, the server kills its children and exits.
///
/// A third descriptor is one end of another such socket, for a process that may run one rank after the other: it says
/// there, with an `exited` of status 0, that its rank ended well, and takes the next `launch` from there, with the
/// first two descriptors and the same number: it is known by that until the server tells how it ended. A worker that
/// has a new process for each rank closes it.
struct LaunchRequest {
  uint64_t id = 0;
  unsigned rank = 0;
  std::vector<std::string> environment;  // "NAME=value", added to the server's; of a command it is all that there is
  TrialSpec spec;
};
struct LaunchReply {
  enum class Type { Ready, Started, Exited } type = Type::Ready;
  uint64_t id = 0;
  int pid = 0;
  // Of Exited:
  int status = 0;                  // as from waitpid
  double at = 0;                   // when it was seen: seconds since the machine was started (CLOCK_BOOTTIME)
  std::string out_of_memory = {};  // how it is known that the kernel killed a process of it for memory; "": it is not
  std::vector<int> stuck = {};     // processes that it left, which were killed and do not die
};

/// Reads or writes the version of the messages between engine and workers.
void describeVersion(JsonRecord& io);
void describe(JsonRecord& io, Rehearsed& rehearsed);
void describe(JsonRecord& io, TrialSpec& spec);
void describe(JsonRecord& io, LaunchRequest& request);
void describe(JsonRecord& io, LaunchReply& reply);

/// What `expc-worker --describe` prints:
/// {"v":1,"build":…,"libraries":{…},"workloads":[{name,version,params:[{name,type,default}],metrics:[{name,…}]}]}.

}  // namespace expc::plan
