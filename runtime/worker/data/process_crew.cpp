#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"
#include "runtime/worker/data/crew.h"

namespace expc::data {
namespace {

/// On an index queue: where the batch lies in the epoch's order, which the worker has from its parent.
struct IndexMessage {
  uint64_t ticket;
  uint64_t slot;
  int64_t begin, count;
};

/// On the result queue: one packet, so that workers cannot mix theirs.
struct ResultMessage {
  uint64_t ticket;
  int64_t skipped;
  uint64_t error_bytes;
  char error[3000];
};
constexpr size_t kResultHead = offsetof(ResultMessage, error);

/// Milliseconds between looks at whether a peer is still there, for when no hang-up can be seen.
constexpr int kLook = 500;
/// Time that a worker has to leave before it is killed.
constexpr std::chrono::seconds kPatience{5};

/// In memory shared with the workers.
struct Shared {
  std::atomic<bool> abandoned{false};
};

/// Packets from one end to the other; no ends and errno where the system has none.
struct SocketPair {
  base::Descriptor near, far;

  bool open() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
    near = base::Descriptor(ends[0]), far = base::Descriptor(ends[1]);
    return true;
  }
};

/// What a worker needs; all of it inherited by fork.
struct Child {
  unsigned number;
  pid_t parent;
  int jobs, results;  // sockets
  const CrewOptions& options;
  const std::vector<int64_t>& order;
  const Shared& shared;
};

/// False when the parent is gone.
bool sendResult(int socket, const ResultMessage& message) {
  const size_t bytes = kResultHead + message.error_bytes;
  ssize_t sent = 0;
  do {
    sent = send(socket, &message, bytes, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes);
}

/// False when there is nothing more to do.
bool receiveJob(const Child& child, IndexMessage& message) {
  while (true) {
    pollfd waiting{child.jobs, POLLIN, 0};
    const int ready = poll(&waiting, 1, kLook);
    // Another child may have inherited the other end of this queue, so its end alone would not tell.
    if (getppid() != child.parent) return false;
    if (ready <= 0) continue;
    const ssize_t got = recv(child.jobs, &message, sizeof message, 0);
    if (got == static_cast<ssize_t>(sizeof message)) return true;
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    return false;
  }
}

void work(const Child& child) {
  const CrewOptions& options = child.options;
  const ItemWriter writer(*options.images, *options.preparation, options.on_corrupt);
  std::vector<uint8_t> scratch;
  IndexMessage job{};
  while (receiveJob(child, job)) {
    int64_t skipped = 0;
    const std::string error = fillBatch(writer, child.order, job.begin, job.count, options.slots->images(job.slot),
                                        options.slots->labels(job.slot), child.shared.abandoned, scratch, skipped);
    ResultMessage result{};
    result.ticket = job.ticket;
    result.skipped = skipped;
    result.error_bytes = std::min(error.size(), sizeof result.error);
    std::memcpy(result.error, error.data(), result.error_bytes);
    if (!sendResult(child.results, result)) return;
  }
}

/// The first thing a worker does: the parent's handlers are not meant for it.
void resetSignals() {
  for (int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD}) ::signal(signal, SIG_DFL);
  // Ctrl-C reaches the whole group; the parent decides what it means.
  ::signal(SIGINT, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

class ProcessCrew : public Crew {
 public:
  ProcessCrew(const CrewOptions& options, Order order) : options_(options), order_(std::move(order)) {}
  ~ProcessCrew() override;

  llvm::Error start();
  llvm::Error send(unsigned worker, Job job) override;
  llvm::Expected<std::optional<Done>> receive() override;
  void interrupt() override;

 private:
  struct Worker {
    pid_t pid = -1;
    base::Descriptor jobs;
  };

  llvm::Error fork(unsigned number);
  std::optional<Done> takeResult();
  llvm::Error deathOf(unsigned number, int status) const;
  llvm::Error lookAtWorkers();

  const CrewOptions options_;
  const Order order_;
  Shared* shared_ = nullptr;
  SocketPair results_;  // ours, the workers'
  base::Descriptor interrupt_;
  std::vector<Worker> workers_;

  std::mutex mutex_;  // guards what follows
  std::map<uint64_t, Job> under_way_;
};

llvm::Error systemError(const char* what) { return base::failure("loader: {}: {}", what, std::strerror(errno)); }

llvm::Error ProcessCrew::start() {
  void* page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return systemError("no shared memory for worker processes");
  shared_ = new (page) Shared;
  if (!results_.open()) return systemError("no result queue");
  interrupt_ = base::Descriptor(eventfd(0, EFD_CLOEXEC));
  if (interrupt_ < 0) return systemError("no event for worker processes");
  for (unsigned i = 0; i < options_.workers; ++i)
    if (auto error = fork(i)) return error;
  // With the workers' end closed here, it closes with the last worker.
  results_.far.close();
  return llvm::Error::success();
}

llvm::Error ProcessCrew::fork(unsigned number) {
  SocketPair jobs;
  if (!jobs.open()) return systemError("no index queue");
  const pid_t parent = getpid();
  const pid_t pid = ::fork();
  if (pid < 0)
    return base::failure("loader: worker process {} of {} does not start: {}", number + 1, options_.workers,
                         std::strerror(errno));
  if (pid == 0) {
    resetSignals();
    jobs.near.close();
    results_.near.close();
    for (Worker& other : workers_) other.jobs.close();
    work({number, parent, jobs.far, results_.far, options_, *order_, *shared_});
    _exit(0);
  }
  workers_.push_back({pid, std::move(jobs.near)});
  return llvm::Error::success();
}

ProcessCrew::~ProcessCrew() {
  if (shared_ != nullptr) shared_->abandoned = true;
  for (Worker& worker : workers_) worker.jobs.close();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (Worker& worker : workers_) {
    if (worker.pid < 0) continue;  // died before
    // A worker that is stuck in a read must not hold up the end of a trial.
    pid_t left = 0;
    while ((left = waitpid(worker.pid, nullptr, WNOHANG)) == 0 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (left == 0) {
      kill(worker.pid, SIGKILL);
      waitpid(worker.pid, nullptr, 0);
    }
  }
  if (shared_ != nullptr) munmap(shared_, sizeof(Shared));
}

llvm::Error ProcessCrew::send(unsigned worker, Job job) {
  const IndexMessage message{job.ticket, job.slot, job.batch.begin, job.batch.count};
  {
    const std::lock_guard lock(mutex_);
    under_way_.emplace(job.ticket, std::move(job));
  }
  ssize_t sent = 0;
  do {
    sent = ::send(workers_[worker].jobs, &message, sizeof message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  // A worker that is gone is met, with its reason, by receive().
  if (sent < 0 && errno != EPIPE && errno != ECONNRESET) return systemError("an index queue failed");
  return llvm::Error::success();
}

std::optional<Done> ProcessCrew::takeResult() {
  ResultMessage message{};
  const ssize_t got = recv(results_.near, &message, sizeof message, MSG_DONTWAIT);
  if (got < static_cast<ssize_t>(kResultHead)) return std::nullopt;
  Done done;
  done.skipped = message.skipped;
  done.error.assign(message.error, static_cast<size_t>(got) - kResultHead);
  const std::lock_guard lock(mutex_);
  auto found = under_way_.find(message.ticket);
  assert(found != under_way_.end());
  done.job = std::move(found->second);
  under_way_.erase(found);
  return done;
}

llvm::Error ProcessCrew::deathOf(unsigned number, int status) const {
  std::string how;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    how = fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
    if (signal == SIGKILL) how += "; the system does that when memory runs out: lower workers, prefetch or batch";
    if (signal == SIGBUS) how += "; shared memory, or a mapped file, ran out: lower workers, prefetch or batch";
  } else {
    how = fmt::format("ended with exit code {}", WEXITSTATUS(status));
  }
  return base::failure("loader: worker process {} of {} (pid {}) {}", number + 1, options_.workers,
                       workers_[number].pid, how);
}

/// An error when one of them has died.
llvm::Error ProcessCrew::lookAtWorkers() {
  for (unsigned i = 0; i < workers_.size(); ++i) {
    int status = 0;
    const pid_t pid = workers_[i].pid;
    if (pid < 0 || waitpid(pid, &status, WNOHANG) != pid) continue;
    auto error = deathOf(i, status);
    workers_[i].pid = -1;
    return error;
  }
  return llvm::Error::success();
}

llvm::Expected<std::optional<Done>> ProcessCrew::receive() {
  std::vector<pollfd> waiting{{interrupt_, POLLIN, 0}, {results_.near, POLLIN, 0}};
  for (const Worker& worker : workers_) waiting.push_back({worker.jobs, 0, 0});  // hang-ups only
  while (true) {
    const int ready = poll(waiting.data(), waiting.size(), kLook);
    if (ready > 0 && waiting[0].revents != 0) return std::optional<Done>();
    if (auto done = takeResult()) return done;
    // What a worker sent before it died counts; only then is its death news.
    if (auto error = lookAtWorkers()) return error;
  }
}

void ProcessCrew::interrupt() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(interrupt_, &one, sizeof one);
}

}  // namespace

llvm::Expected<std::unique_ptr<Crew>> startProcesses(const CrewOptions& options, Order order) {
  auto crew = std::make_unique<ProcessCrew>(options, std::move(order));
  if (auto error = crew->start()) return error;
  return std::unique_ptr<Crew>(std::move(crew));
}

}  // namespace expc::data
