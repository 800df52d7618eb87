#pragma once

// Messages between engine and worker: a trial's specification in, events out, each a JSON line with a schema
// version; and the messages of the launch channel (`expc-worker --serve`). trial.cpp has their fields and checks.
// Engine and workers are of one build, so these messages have one version and no older forms.

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/plan/note.h"
#include "runtime/plan/plan.h"

namespace expc::protocol {

/// The version of all messages between engine and workers.
inline constexpr int kTrialVersion = 1;

/// The workload of a launch that is not a trial: each rank keeps its own device busy for the setting "seconds". The
/// result of rank 0 has no metrics. Every worker that drives devices understands it, but `--describe` does not list
/// it.
inline constexpr std::string_view kHeatUp = "expc.heat_up";

/// The phase of the progress by which a service says that it is ready: `done` microseconds after its start; `total`
/// is its process.
inline constexpr std::string_view kReadyPhase = "ready";

/// Bytes that a rank may log, or a command write to either of its outputs, unless a run says otherwise.
inline constexpr uint64_t kLogLimit = 1ull << 30;
/// "10 MB (--log-limit)": a limit, with the option that sets it; for the message that it was exceeded.
std::string logLimitText(uint64_t bytes);

/// One trial, the same for all its ranks. The ranks find each other by the variables RANK, WORLD_SIZE, LOCAL_RANK,
/// MASTER_ADDR and MASTER_PORT.
struct TrialSpec {
  std::string trial;  // id in the store, for logs
  std::string point;
  std::string workload;  // "image.mobilenet_v2"
  int workload_version = 1;
  /// The user's program, for expc-worker-command. It starts one process on each node, whatever that starts itself.
  /// So a rank is a node here, and its slot holds all devices and cores there.
  std::optional<plan::Command> command;
  std::string folder;    // of a command: its working directory, absolute; otherwise ""
  std::string prepared;  // of a command: the folder that its preparation filled, absolute; "" without one
  std::string outputs;   // of a command: the file that keeps its output, absolute; "": none is kept
  /// Further values for the arguments of a command, such as the addresses of its services ("vllm.port").
  std::map<std::string, std::string> values;
  plan::TrialKind kind = plan::TrialKind::Timed;
  json::Object settings;  // steps, warmup, epochs
  json::Object parameters;
  std::string root;                  // where relative paths in parameters start
  uint64_t seed = 0;                 // the block's seed: initial weights, data order, dropout
  std::vector<std::string> metrics;  // those that are requested
  unsigned world_size = 1;
  /// The resources of each rank, e.g. {"device":"cpu","cores":[0]} or {"device":"cuda","index":0,"cores":[0,1]}. A
  /// trial of one rank may have several slots: that rank drives them all.
  json::Array slots;
  uint64_t memory_limit = 0;       // bytes of host memory for a rank and what it starts; 0: no limit
  uint64_t log_limit = kLogLimit;  // bytes of a rank's log, or of either output of a command, before it is ended
  /// On simulated GPUs: steps are counted, and the result has the counts in `rehearsed`. No value matters, so
  /// weights are neither drawn nor read.
  bool rehearsal = false;

  /// Whether it is a service, which runs until its launch is told to stop.
  bool isService() const { return command && command->ready; }
  /// The process of one of the command's services, on the node of rank 0. 0: it is not known.
  int processOf(const plan::Service& service) const;
};

/// The values of a command's trial: TrialSpec::values, `seed`, `trial`, `trial_folder`, `prepared`, `steps`, `warmup`,
/// `epochs`, then the parameters, which hide these where they share a name.
std::map<std::string, std::string> argumentValues(const TrialSpec& spec);

/// Calls of one kind, and the bytes that they moved.
struct Traffic {
  uint64_t calls = 0, bytes = 0;
};

/// The resources and work of one rank. Counts, bytes and operations are of all counted steps together.
struct RehearsedRank {
  uint64_t host_memory = 0;  // bytes, largest resident size since its start
  /// Bytes: the peak in the counted steps, as torch's allocator counts; of the device with most, if there are
  /// several.
  uint64_t device_memory_allocated = 0, device_memory_reserved = 0;
  uint64_t widest_allocated = 0, widest_reserved = 0;  // the same in the step with the longest rows; 0: no such step
  uint64_t launches = 0;                               // of kernels; a graph counts as the kernels that it holds
  uint64_t synchronisations = 0;                       // calls in which the host waits for a device
  Traffic to_device, from_device, within_devices;
  std::map<std::string, Traffic> collectives;  // by name: "all_reduce"; bytes of the rank's own buffer
  double host_seconds = 0;                     // processor time of the threads that launch
  /// Floating-point operations of matrix products, convolutions and attention, by the type of their inputs: "bf16".
  std::map<std::string, double> operations;
  double memory_bytes = 0;  // read and written by operators, beyond what a cache of the device can hold
};

/// The result of a rehearsed trial: a few steps of the real worker on simulated GPUs, counted. Nothing in it is a
/// measurement.
struct Rehearsed {
  unsigned steps = 1;  // number of steps that were counted
  std::vector<RehearsedRank> ranks;
  int64_t epoch_steps = 0;  // steps of a pass over the data; 0: not known
};

/// An event that a worker writes, one JSON object per line: {"v":1,"event":"…",…}. Rank 0 speaks for the trial;
/// others send only `failed`. A trial ended well if and only if rank 0 sent `result` and every rank exited with 0.
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
  bool names_rank = false;   // the reason says which rank it is of
  bool host_memory = false;  // infeasible: the host's memory ran out, not a device's
  /// Values of all requested metrics: a number in base units, or null if this device cannot give it. A value that
  /// diverged is NaN or an infinity here, and is written in the line by jsonNumber.
  json::Object metrics = {};
  json::Object series = {};
  /// The rows of a process that goes through levels by itself: by plan::rowKey an object with `metrics` and `series`.
  json::Object rows = {};
  json::Object environment = {};  // threads, allocator, libraries: everything that influences the time
  std::vector<plan::Note> notes = {};
  std::optional<Rehearsed> rehearsed = {};  // set in the result of a rehearsal
};

std::string toLine(const Event& event);  // without the newline
/// Reads a line. The error says what is wrong: a line that is no event is the worker's fault, and never crashes.
Expected<Event> eventFromLine(std::string_view line);

/// The launch channel. Once per session the engine starts `expc-worker --serve FD`, where FD is a SOCK_SEQPACKET
/// unix socket. That server loads what is slow to load, and forks one child for each request. A packet is one JSON
/// message; a `launch` packet carries two descriptors (SCM_RIGHTS): the write end of the event pipe, and the log
/// file. A packet {"v":1,"kill":ID} kills the process group of launch ID; {"v":1,"stop":ID} sends SIGTERM to its
/// process, which ends its service. When the socket closes, the server kills its children and exits.
///
/// A third descriptor is one end of another such socket, for a process that may run several ranks in turn. Over it
/// the process reports that its rank ended well (`exited`, status 0), and receives the next `launch`, with the
/// first two descriptors and the same number. That number identifies the process until the server reports its end.
/// A worker that starts a new process for each rank closes the descriptor.
struct LaunchRequest {
  uint64_t id = 0;
  unsigned rank = 0;
  std::vector<std::string> environment;  // "NAME=value", added to the server's; for a command these are all
  TrialSpec spec;
};
/// The server's answer to a launch: first `started`, later `exited`. `ready` comes once, before the first launch.
struct LaunchReply {
  enum class Type { Ready, Started, Exited } type = Type::Ready;
  uint64_t id = 0;
  int pid = 0;
  // Only in Exited:
  int status = 0;                  // as from waitpid
  double at = 0;                   // when the end was seen: seconds since the machine was started (CLOCK_BOOTTIME)
  std::string out_of_memory = {};  // evidence that the kernel killed one of its processes for memory; "": none
  std::vector<int> stuck = {};     // its processes that were killed and do not die
};

/// Reads or writes the version of the messages between engine and workers; another version is an error.
void describeVersion(base::JsonRecord& io);
void describe(base::JsonRecord& io, Rehearsed& rehearsed);
void describe(base::JsonRecord& io, TrialSpec& spec);
void describe(base::JsonRecord& io, LaunchRequest& request);
void describe(base::JsonRecord& io, LaunchReply& reply);

/// The output of `expc-worker --describe`:
/// {"v":1,"build":…,"libraries":{…},"workloads":[{name,version,params:[{name,type,default}],metrics:[{name,…}]}]}.

}  // namespace expc::protocol
