// Tables of NCCL's types, reductions and kernels. Profiles of null and real GPUs should show the
// same names, so kernels have NCCL's mangled ones.

#include "nullgpu/nccl/call.h"

#include <mutex>
#include <vector>

namespace nullgpu::nccl {
namespace {

/// A type: its name in messages, its size, and its name in kernels.
struct Type {
  const char* name;
  size_t bytes;
  /// NCCL has kernels for unsigned integers only; they serve the signed ones.
  const char* kernel;
};
constexpr Type kTypes[ncclNumTypes] = {
    {"int8", 1, "u8"},     {"uint8", 1, "u8"},      {"int32", 4, "u32"},         {"uint32", 4, "u32"},
    {"int64", 8, "u64"},   {"uint64", 8, "u64"},    {"float16", 2, "f16"},       {"float32", 4, "f32"},
    {"float64", 8, "f64"}, {"bfloat16", 2, "bf16"}, {"float8e4m3", 1, "f8e4m3"}, {"float8e5m2", 1, "f8e5m2"}};
constexpr const char* kReductions[ncclNumOps + 1] = {"sum", "prod", "max", "min", "avg", "sum of what is multiplied"};
constexpr const char* kKinds[] = {"AllReduce", "Reduce",   "ReduceScatter", "AllGather",
                                  "Broadcast", "AlltoAll", "a message"};
constexpr std::string_view kCounted[] = {"all_reduce", "reduce",     "reduce_scatter", "all_gather",
                                         "broadcast",  "all_to_all", "messages"};

bool rooted(Kind kind) { return kind == Kind::Reduce || kind == Kind::Broadcast; }

/// The mangled name of a kernel with NCCL's one argument.
std::string mangled(const std::string& kernel) {
  return joined("_Z", kernel.size(), kernel, "24ncclDevKernelArgsStorageILm4096EE");
}

/// The kernel of a collective. NCCL chooses it by collective and type; the reduction travels in the
/// arguments, so all reductions use the kernel named after the sum.
std::string kernelOf(Kind kind, size_t type) {
  const std::string prefix = "ncclDevKernel_";
  if (kind == Kind::AllToAll || kind == Kind::Message) return mangled(prefix + "SendRecv");
  const std::string name = prefix + kKinds[size_t(kind)];
  if (!reduces(kind)) return mangled(name + "_RING_LL");
  return mangled(name + "_Sum_" + kTypes[type].kernel + "_RING_LL");
}

std::mutex mutex;
auto& kept = *new std::string;  // never destroyed: threads may still fail while the process ends

}  // namespace

bool reduces(Kind kind) { return kind == Kind::AllReduce || kind == Kind::Reduce || kind == Kind::ReduceScatter; }

bool Description::agrees(const Description& other) const {
  return kind == other.kind && type == other.type && reduction == other.reduction && root == other.root &&
         count == other.count;
}

size_t sizeOf(uint8_t type) { return kTypes[type].bytes; }

std::string amount(const Description& what) { return joined(what.count, " x ", kTypes[what.type].name); }

std::string words(const Description& what) {
  std::string text = joined(kKinds[size_t(what.kind)], " of ", amount(what));
  if (reduces(what.kind)) text += joined(" (", kReductions[what.reduction], ")");
  if (rooted(what.kind)) text += joined(what.kind == Kind::Reduce ? " to rank " : " from rank ", what.root);
  return text;
}

std::string_view countedName(Kind kind) { return kCounted[size_t(kind)]; }

std::string_view kernelName(const Description& what) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (size_t kind = 0; kind <= size_t(Kind::Message); ++kind)
      for (size_t type = 0; type < ncclNumTypes; ++type) all.push_back(kernelOf(static_cast<Kind>(kind), type));
    return all;
  }();
  return names[size_t(what.kind) * ncclNumTypes + what.type];
}

uint64_t bytesOf(const Description& what, unsigned ranks) {
  // In these collectives `count` is one rank's part.
  const bool parts = what.kind == Kind::ReduceScatter || what.kind == Kind::AllGather || what.kind == Kind::AllToAll;
  return what.count * sizeOf(what.type) * (parts ? ranks : 1);
}

void expect(cudaError_t error) {
  if (error != cudaSuccess) throw Failure(ncclUnhandledCudaError, "Cuda failure '", cudaGetErrorString(error), "'");
}

void rememberError(const std::string& text) {
  const std::lock_guard lock(mutex);
  kept = text;
}

const char* lastError() {
  thread_local std::string copy;
  const std::lock_guard lock(mutex);
  copy = kept;
  return copy.c_str();
}

}  // namespace nullgpu::nccl
