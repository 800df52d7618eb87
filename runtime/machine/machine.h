#pragma once

// Describes the hardware: this host's CPU, memory, kernel and GPUs, and the device slots that trials run on. These are
// plain values: probe.h finds them out, gpus.h asks NVML, slots.h divides a machine into slots and computes environment
// classes. Machines travel as JSON: into the store with each session, and from agents to the engine.

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::machine {

/// The path between two devices: the nearest common ancestor of their paths to the host, in the terms of `nvidia-smi
/// topo -m` (PIX, PXB, PHB, NODE, SYS), and the number of NVLinks between them.
struct Way {
  enum class Over { Unknown, Switch, Switches, Bridge, Node, System } over = Over::Unknown;
  unsigned nvlinks = 0;
  bool operator==(const Way&) const = default;
};

/// A whole GPU; parts (MIG) are left out.
struct Gpu {
  unsigned index = 0;  // NVML's index, the order of nvidia-smi
  std::string name, uuid;
  uint64_t memory_bytes = 0;
  std::string pci_bus;           // "0000:17:00.0"
  std::vector<int> cores;        // allowed cores next to it; all of them if the topology does not say
  int memory_node = -1;          // NUMA node next to it; -1: not known
  std::map<unsigned, Way> ways;  // Gpu::index of another GPU -> the path to it
  bool null = false;             // a card that computes nothing (gpus.h)
};

/// A CPU socket.
struct Package {
  std::vector<int> cores;  // of Machine::allowed
};

/// A NUMA node with memory.
struct NumaNode {
  int index = 0;           // the kernel's number
  std::vector<int> cores;  // of Machine::allowed that are next to it
};

/// The null cards that `--null-gpus` asks for.
struct NullGpus {
  unsigned cards = 0;   // 0: those that the machine shows by itself (`found`)
  std::string memory;   // of each, as NULLGPU_MEMORY takes it ("94GiB"); "": the libraries' default
  std::string library;  // path of their NVML, beside which the others are; "" where cards is 0
};

/// A machine at the moment of the probe. Fields that cannot be read stay empty, and `notes` says why.
struct Machine {
  std::string host, boot_id, kernel, os;
  std::string cpu_model;
  unsigned sockets = 0, cores = 0, threads = 0;  // of the whole machine; threads are what the kernel calls CPUs
  std::vector<int> allowed;       // one CPU number for each physical core that the affinity mask allows, ascending
  std::vector<Package> packages;  // those with an allowed core
  std::vector<NumaNode> nodes;    // those with memory and an allowed core
  double cpu_quota = 0;           // CPUs that the control groups grant; 0: no limit
  uint64_t memory_bytes = 0;      // bytes that a process can have: the machine's, or memory_limit
  uint64_t memory_limit = 0;      // bytes that the control groups grant; 0: no limit below the machine's memory
  std::string governor;           // "" when the kernel does not say (virtual machines)
  std::string gpu_driver;         // "" without an NVIDIA driver
  int cuda_driver = 0;            // the newest CUDA that the driver runs, 13000 for 13.0; 0: not known
  std::string nvml_library;       // path of the NVML that answered; "" without one
  std::vector<Gpu> gpus;          // those that CUDA_VISIBLE_DEVICES leaves; null cards only if asked for
  std::optional<NullGpus> null_gpus;
  std::vector<std::string> notes;  // messages about what could not be found out
};

/// The share of the machine that a rank gets: a GPU with cores near it, or a share of the cores.
struct Slot {
  bool gpu = false;
  unsigned index = 0;             // Gpu::index, or the number of the CPU slot
  std::string name, uuid;         // of the GPU
  bool null = false;              // a null card
  std::vector<int> cores;         // CPU numbers that the rank is bound to
  std::vector<int> memory_nodes;  // NUMA nodes that its memory comes from; none: the kernel chooses (placed)
  unsigned threads = 0;           // threads of operators on the CPU; 0: one for each core
  json::Object toJson() const;    // {"device":"cpu","index":0,"cores":[0]}: an entry of TrialSpec::slots
};

}  // namespace expc::machine

namespace expc {
using machine::Machine;
}
