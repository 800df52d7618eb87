// Workers of the data loader as threads and as forked processes.
//
// Processes: the parent sends positions of the epoch's order, which a child has from the fork, so indices are never
// copied. Both directions are SOCK_SEQPACKET sockets, whose packets arrive whole, so that several workers can share one
// queue of results. A worker ends when its queue of jobs is closed or its parent is gone; the parent learns of a dead
// worker by waitpid, and reports the death only after the results that were sent before it.

#include "runtime/data/images/crew.h"

#include <fcntl.h>
#include <llvm/Support/Errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
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
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"

namespace expc::data {

Done prepare(Job job, const ItemWriter& writer, const Slots& slots, std::vector<uint8_t>& scratch,
             const std::atomic<bool>& abandoned) {
  Done done{std::move(job), 0, ""};
  const auto& [ticket, slot, batch] = done.job;
  for (int64_t i = 0; i < batch.count && done.error.empty(); ++i) {
    char* image = slots.images(slot) + size_t(i) * writer.imageBytes();
    if (abandoned.load(std::memory_order_relaxed))
      done.error = "the loader was stopped";
    else if (auto error =
                 writer.write(*batch.order, batch.begin + i, image, slots.labels(slot) + i, scratch, done.skipped))
      done.error = toString(std::move(error));
  }
  return done;
}

namespace {

class ThreadCrew : public Crew {
 public:
  ThreadCrew(const Images& images, const LoaderOptions& options, Slots& slots)
      : writer_(images, options), slots_(slots), jobs_(options.workers) {}

  // Closing the queues ends the threads, which are joined as the last members are destroyed.
  ~ThreadCrew() override {
    abandoned_ = true;
    for (auto& jobs : jobs_) jobs.close();
  }

  Error start() {
    try {
      for (auto& jobs : jobs_)
        threads_.emplace_back([&] {
          std::vector<uint8_t> scratch;
          while (auto job = jobs.take()) done_.put(prepare(std::move(*job), writer_, slots_, scratch, abandoned_));
        });
    } catch (const std::system_error& error) {
      return failure("loader: worker {} of {} does not start: {}", threads_.size() + 1, jobs_.size(), error.what());
    }
    return Error::success();
  }

  Error send(unsigned worker, Job job) override {
    jobs_[worker].put(std::move(job));
    return Error::success();
  }
  Expected<std::optional<Done>> receive() override { return done_.take(); }
  void interrupt() override { done_.close(); }

 private:
  const ItemWriter writer_;
  Slots& slots_;
  std::atomic<bool> abandoned_{false};
  std::vector<Conveyor<Job>> jobs_;  // one for each worker
  Conveyor<Done> done_;
  std::vector<std::jthread> threads_;  // last, since its threads use the other members until they are joined
};

/// A job as it is sent to a worker process: a range of the epoch's order.
struct IndexMessage {
  uint64_t ticket;
  uint64_t slot;
  int64_t begin, count;
};

/// A result as it is sent back. One packet with everything, so that the results of several workers cannot mix; a longer
/// text of an error is cut.
struct ResultMessage {
  uint64_t ticket;
  int64_t skipped;
  uint64_t error_bytes;
  char error[3000];
};
/// Bytes of a result without an error.
constexpr size_t kResultHead = offsetof(ResultMessage, error);

/// Milliseconds between looks at whether the other side is still alive, for deaths that show as no hang-up.
constexpr int kLook = 500;
/// The time that a worker has to leave before it is killed.
constexpr std::chrono::seconds kPatience{5};

/// Two connected sockets for packets.
struct SocketPair {
  Descriptor near, far;

  /// False, with errno set, if the system has none left.
  bool open() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
    near = Descriptor(ends[0]), far = Descriptor(ends[1]);
    return true;
  }
};

/// Sends a packet; false if the other end is closed. MSG_NOSIGNAL: a write to a dead process must not kill this one.
bool sendPacket(int socket, const void* packet, size_t bytes) {
  return llvm::sys::RetryAfterSignal(-1, ::send, socket, packet, bytes, MSG_NOSIGNAL) == ssize_t(bytes);
}

/// Waits for the next job; false if the worker should leave.
bool receiveJob(int jobs, pid_t parent, IndexMessage& message) {
  while (true) {
    pollfd waiting{jobs, POLLIN, 0};
    const int ready = poll(&waiting, 1, kLook);
    // The other end of this queue may live on in another child that inherited it, so a hang-up alone would not tell
    // that the parent died.
    if (getppid() != parent) return false;
    if (ready <= 0) continue;
    const ssize_t got = recv(jobs, &message, sizeof message, 0);
    if (got == ssize_t(sizeof message)) return true;
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    return false;
  }
}

/// Undoes the parent's handling of signals, as the first thing that a worker does.
void resetSignals() {
  for (int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD}) ::signal(signal, SIG_DFL);
  // Ctrl-C reaches the whole process group; the parent decides what it means.
  ::signal(SIGINT, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

class ProcessCrew : public Crew {
 public:
  ProcessCrew(const Images& images, const LoaderOptions& options, Slots& slots, Order order)
      : images_(images), options_(options), slots_(slots), order_(std::move(order)) {}
  ~ProcessCrew() override;

  Error start();
  Error send(unsigned worker, Job job) override;
  Expected<std::optional<Done>> receive() override;
  void interrupt() override;

 private:
  struct Worker {
    pid_t pid = -1;
    Descriptor jobs;
  };

  Error fork(unsigned number);
  void work(int jobs, pid_t parent) const;
  std::optional<Done> takeResult();
  Error lookAtWorkers();

  const Images& images_;
  const LoaderOptions& options_;
  Slots& slots_;
  const Order order_;
  std::shared_ptr<void> shared_;            // memory shared with the workers
  std::atomic<bool>* abandoned_ = nullptr;  // in that memory
  SocketPair results_;                      // near: ours; far: the workers'
  Descriptor interrupt_;                    // an eventfd that ends a waiting receive()
  std::vector<Worker> workers_;

  std::mutex mutex_;                   // guards the map
  std::map<uint64_t, Job> under_way_;  // by ticket; results carry only the ticket
};

Error systemError(const char* what) { return failure("loader: {}: {}", what, std::strerror(errno)); }

Error ProcessCrew::start() {
  shared_ = sharedMemory()(sizeof(std::atomic<bool>));
  if (!shared_) return systemError("no shared memory for worker processes");
  abandoned_ = new (shared_.get()) std::atomic<bool>(false);
  if (!results_.open()) return systemError("no result queue");
  interrupt_ = Descriptor(eventfd(0, EFD_CLOEXEC));
  if (interrupt_ < 0) return systemError("no event for worker processes");
  for (unsigned i = 0; i < options_.workers; ++i) TRY(fork(i));
  // The workers' end is closed here, so that it closes with the last worker.
  results_.far.close();
  return Error::success();
}

Error ProcessCrew::fork(unsigned number) {
  SocketPair jobs;
  if (!jobs.open()) return systemError("no index queue");
  const pid_t parent = getpid();
  const pid_t pid = ::fork();
  if (pid < 0)
    return failure("loader: worker process {} of {} does not start: {}", number + 1, options_.workers,
                   std::strerror(errno));
  // The child closes the ends that belong to the parent and to its siblings, else they would stay open after these are
  // gone.
  if (pid == 0) {
    resetSignals();
    jobs.near.close();
    results_.near.close();
    for (Worker& other : workers_) other.jobs.close();
    work(jobs.far, parent);
    _exit(0);
  }
  workers_.push_back({pid, std::move(jobs.near)});
  return Error::success();
}

/// The life of a worker. Everything it needs it has from its parent by the fork.
void ProcessCrew::work(int jobs, pid_t parent) const {
  const ItemWriter writer(images_, options_);
  std::vector<uint8_t> scratch;
  IndexMessage job{};
  while (receiveJob(jobs, parent, job)) {
    const Done done =
        prepare({job.ticket, job.slot, {order_, job.begin, job.count}}, writer, slots_, scratch, *abandoned_);
    ResultMessage result{job.ticket, done.skipped, std::min(done.error.size(), sizeof result.error), {}};
    std::memcpy(result.error, done.error.data(), result.error_bytes);
    if (!sendPacket(results_.far, &result, kResultHead + result.error_bytes)) return;
  }
}

ProcessCrew::~ProcessCrew() {
  if (abandoned_) *abandoned_ = true;
  for (Worker& worker : workers_) worker.jobs.close();
  // One deadline for all: a worker that is stuck in a read must not hold up the end of a trial.
  const auto deadline = base::Clock::now() + kPatience;
  for (Worker& worker : workers_) {
    if (worker.pid < 0) continue;  // it died before and was waited for
    // A worker that is stuck in a read must not hold up the end of a trial.
    pid_t left = 0;
    while ((left = waitpid(worker.pid, nullptr, WNOHANG)) == 0 && base::Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (left == 0) {
      kill(worker.pid, SIGKILL);
      waitpid(worker.pid, nullptr, 0);
    }
  }
}

Error ProcessCrew::send(unsigned worker, Job job) {
  const IndexMessage message{job.ticket, job.slot, job.batch.begin, job.batch.count};
  {
    // The job is noted before it is sent: its result may arrive on the other thread before this call returns.
    const std::lock_guard lock(mutex_);
    under_way_.emplace(job.ticket, std::move(job));
  }
  // A dead worker is no error here: receive() reports it, with the reason.
  if (!sendPacket(workers_[worker].jobs, &message, sizeof message) && errno != EPIPE && errno != ECONNRESET)
    return systemError("an index queue failed");
  return Error::success();
}

/// The next result if one has arrived.
std::optional<Done> ProcessCrew::takeResult() {
  ResultMessage message{};
  // Packets arrive whole. Less than the head means that nothing was there, or that all workers have closed the queue.
  const ssize_t got = recv(results_.near, &message, sizeof message, MSG_DONTWAIT);
  if (got < ssize_t(kResultHead)) return std::nullopt;
  Done done;
  done.skipped = message.skipped;
  done.error.assign(message.error, size_t(got) - kResultHead);
  const std::lock_guard lock(mutex_);
  auto found = under_way_.find(message.ticket);
  assert(found != under_way_.end());
  done.job = std::move(found->second);
  under_way_.erase(found);
  return done;
}

/// An error if a worker has died.
Error ProcessCrew::lookAtWorkers() {
  for (unsigned i = 0; i < workers_.size(); ++i) {
    int status = 0;
    const pid_t pid = workers_[i].pid;
    if (pid < 0 || waitpid(pid, &status, WNOHANG) != pid) continue;
    workers_[i].pid = -1;
    std::string how = fmt::format("ended with exit code {}", WEXITSTATUS(status));
    if (WIFSIGNALED(status)) {
      const int signal = WTERMSIG(status);
      how = fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
      // The two signals that users meet, with the usual reason. Memory mapped from /dev/shm or a file faults when it
      // runs out.
      if (signal == SIGKILL) how += "; the system does that when memory runs out: lower workers, prefetch or batch";
      if (signal == SIGBUS) how += "; shared memory, or a mapped file, ran out: lower workers, prefetch or batch";
    }
    return failure("loader: worker process {} of {} (pid {}) {}", i + 1, options_.workers, pid, how);
  }
  return Error::success();
}

Expected<std::optional<Done>> ProcessCrew::receive() {
  std::vector<pollfd> waiting{{interrupt_, POLLIN, 0}, {results_.near, POLLIN, 0}};
  for (const Worker& worker : workers_) waiting.push_back({worker.jobs, 0, 0});  // for hang-ups only
  while (true) {
    const int ready = poll(waiting.data(), waiting.size(), kLook);
    if (ready > 0 && waiting[0].revents != 0) return std::optional<Done>();
    if (auto done = takeResult()) return done;
    // Results that a worker sent before it died count, so its death is looked for only when there are none left.
    TRY(lookAtWorkers());
  }
}

void ProcessCrew::interrupt() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(interrupt_, &one, sizeof one);
}

}  // namespace

Expected<std::unique_ptr<Crew>> startThreads(const Images& images, const LoaderOptions& options, Slots& slots) {
  auto crew = std::make_unique<ThreadCrew>(images, options, slots);
  TRY(crew->start());
  return crew;
}

Expected<std::unique_ptr<Crew>> startProcesses(const Images& images, const LoaderOptions& options, Slots& slots,
                                               Order order) {
  auto crew = std::make_unique<ProcessCrew>(images, options, slots, std::move(order));
  TRY(crew->start());
  return crew;
}

}  // namespace expc::data
