#pragma once

// For tests: ranks in processes of their own, and memory of cards with values in it.

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>
#include <nccl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace nullgpu::nccl {

struct Rank {
  int number = 0, of = 1;
  ncclUniqueId id{};
  unsigned seed = 1;
};

/// Ends the rank with these words if a condition does not hold.
inline void require(bool holds, const std::string& what) {
  if (!holds) throw what;
}
inline void require(cudaError_t error, const std::string& what) {
  require(error == cudaSuccess, what + ": " + cudaGetErrorString(error));
}
inline void require(ncclResult_t answer, const std::string& what) {
  require(answer == ncclSuccess, what + ": " + ncclGetErrorString(answer) + ", " + ncclGetLastError(nullptr));
}

inline std::string saidBy(const std::function<void(const Rank&)>& body, const Rank& rank) {
  setenv("RANK", std::to_string(rank.number).c_str(), 1);
  setenv("NULLGPU_SEED", std::to_string(rank.seed).c_str(), 1);
  try {
    body(rank);
  } catch (const std::string& what) {
    return what;
  }
  return "";
}

/// Forks `count` ranks; `settings` are for NULLGPU_FAULTS. @returns what each says that does not hold, "hangs" for one
/// that is not through in time.
inline std::vector<std::string> runRanks(int count, const std::function<void(const Rank&)>& body, unsigned seed = 1,
                                         const char* faults = "") {
  Rank rank{0, count, {}, seed};
  REQUIRE(ncclGetUniqueId(&rank.id) == ncclSuccess);
  std::vector<std::pair<pid_t, int>> children;
  for (rank.number = 0; rank.number < count; ++rank.number, rank.seed += 1000) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
      setenv("NULLGPU_FAULTS", faults, 1);
      const std::string said = saidBy(body, rank);
      _exit(write(ends[1], said.data(), said.size()) == ssize_t(said.size()) ? 0 : 1);
    }
    close(ends[1]);
    children.emplace_back(child, ends[0]);
  }
  std::vector<std::string> said;
  for (const auto& [child, end] : children) {
    pollfd waiting{end, POLLIN, 0};
    char text[4096];
    const bool ended = poll(&waiting, 1, 60'000) > 0;
    const ssize_t bytes = ended ? read(end, text, sizeof(text)) : 0;
    said.push_back(ended ? std::string(text, size_t(bytes)) : "hangs");
    if (!ended) kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && ended) said.back() += "killed by signal " + std::to_string(WTERMSIG(status));
    close(end);
  }
  return said;
}

inline void checkRanks(int count, const std::function<void(const Rank&)>& body, unsigned seed = 1,
                       const char* faults = "") {
  for (const std::string& said : runRanks(count, body, seed, faults)) CHECK(said == "");
}

/// Makes the rank's end of the communicator of all ranks, on the card with its number.
inline ncclComm_t join(const Rank& rank) {
  require(cudaSetDevice(rank.number), "cudaSetDevice");
  ncclComm_t comm = nullptr;
  require(ncclCommInitRank(&comm, rank.of, rank.id, rank.number), "ncclCommInitRank");
  return comm;
}

inline cudaStream_t newStream() {
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return stream;
}

/// Whether the stream is done within `time`.
inline bool ends(cudaStream_t stream, std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    if (cudaStreamQuery(stream) == cudaSuccess) return true;
    usleep(1000);
  }
  return false;
}

/// The last answer of ncclCommGetAsyncError, once it is no longer in progress.
inline ncclResult_t errorOf(ncclComm_t comm) {
  ncclResult_t error = ncclSuccess;
  for (int i = 0; i < 20'000 && (error == ncclSuccess || error == ncclInProgress); ++i) {
    require(ncclCommGetAsyncError(comm, &error), "ncclCommGetAsyncError");
    usleep(1000);
  }
  return error;
}

/// Values in the memory of a card.
template <typename T>
class OnCard {
 public:
  explicit OnCard(const std::vector<T>& values) : count_(values.size()) {
    require(cudaMalloc(&address_, std::max<size_t>(count_, 1) * sizeof(T)), "cudaMalloc");
    require(cudaMemcpy(address_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // other streams would not wait for the copy
  }
  ~OnCard() { cudaFree(address_); }
  OnCard(const OnCard&) = delete;
  OnCard& operator=(const OnCard&) = delete;

  T* at(size_t element = 0) const { return static_cast<T*>(address_) + element; }
  std::vector<T> read(cudaStream_t stream) const {
    std::vector<T> values(count_);
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    require(cudaMemcpy(values.data(), address_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }

 private:
  void* address_ = nullptr;
  size_t count_;
};

}  // namespace nullgpu::nccl
