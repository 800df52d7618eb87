// The CPU's probe: own time of torch's operators, from RecordFunction callbacks. The callbacks are
// plain functions, so they find the collection through a global pointer. Each thread sums into a
// table of its own, so that an operator of a microsecond is not delayed by a lock.

#include <ATen/record_function.h>
#include <llvm/ADT/StringMap.h>

#include <atomic>
#include <cassert>
#include <chrono>
#include <mutex>
#include <thread>

#include "runtime/base/clock.h"
#include "runtime/worker/profile/activity.h"

namespace expc::profile {
namespace {

/// Names that a breakdown lists before "others".
constexpr size_t kListedOperators = 60;
/// The prefix of our own ranges (range.h). They contain operators and are none.
constexpr std::string_view kOwnPrefix = "expc:";

/// An operator under way in a thread.
struct CalledOperator {
  base::Clock::time_point begun;
  double inside = 0;  // seconds of the operators that it called
};

/// The sums of one thread. Only that thread touches it between start and stop.
struct ThreadTable {
  std::vector<CalledOperator> stack;
  llvm::StringMap<Amount> own;
};

/// The results of all threads.
struct Collection {
  std::mutex mutex;
  std::vector<std::unique_ptr<ThreadTable>> threads;
  Amount all_reduce;
  std::atomic<int> open{0};  // all-reduces under way
};

std::atomic<Collection*> collecting{nullptr};
/// Counts the probes of the process: a thread whose table is of an earlier one needs a new table.
std::atomic<uint64_t> generation{0};

/// The calling thread's table, made at its first operator.
ThreadTable* table(Collection& collection) {
  thread_local ThreadTable* mine = nullptr;
  thread_local uint64_t of = 0;
  const uint64_t now = generation.load(std::memory_order_relaxed);
  if (of != now) {
    const std::lock_guard lock(collection.mutex);
    collection.threads.push_back(std::make_unique<ThreadTable>());
    mine = collection.threads.back().get();
    mine->stack.reserve(64);
    of = now;
  }
  return mine;
}

/// The state of a record that ends on another thread than it began on, as Gloo's all-reduces do.
struct AsyncStart final : at::ObserverContext {
  base::Clock::time_point begun = base::Clock::now();
};

bool isAllReduce(std::string_view name) { return name == "gloo:all_reduce"; }

/// A record begins. Only all-reduces are asynchronous records of interest.
std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  Collection* collection = collecting.load(std::memory_order_acquire);
  if (!collection) return nullptr;
  if (function.isAsync()) {
    if (!isAllReduce(function.name())) return nullptr;
    ++collection->open;
    return std::make_unique<AsyncStart>();
  }
  table(*collection)->stack.push_back({base::Clock::now(), 0});
  return nullptr;
}

/// A record ends: its own time is its whole time minus that of the operators inside.
void end(const at::RecordFunction& function, at::ObserverContext* context) {
  Collection* collection = collecting.load(std::memory_order_acquire);
  if (!collection) return;
  const auto now = base::Clock::now();
  if (function.isAsync()) {
    if (!context) return;
    {
      const std::lock_guard lock(collection->mutex);
      collection->all_reduce += {base::secondsBetween(static_cast<AsyncStart*>(context)->begun, now), 1, 0};
    }
    --collection->open;
    return;
  }
  ThreadTable& mine = *table(*collection);
  // The operator began before the probe started.
  if (mine.stack.empty()) return;
  const CalledOperator frame = mine.stack.back();
  mine.stack.pop_back();
  const double whole = base::secondsBetween(frame.begun, now);
  const std::string_view name = function.name();
  const bool ours = name.starts_with(kOwnPrefix);
  // A range of ours passes the time of its operators on to its caller, and takes none itself.
  if (!mine.stack.empty()) mine.stack.back().inside += ours ? frame.inside : whole;
  if (ours) return;
  mine.own[name] += {whole - frame.inside, 1, 0};
}

class OperatorProbe final : public Probe {
 public:
  ~OperatorProbe() override { remove(); }

  void prepare() override {}

  void start() override {
    assert(!collecting.load() && "one probe at a time");
    ++generation;
    collecting.store(collection_, std::memory_order_release);
    handle_ = at::addGlobalCallback(
        at::RecordFunctionCallback(begin, end)
            .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE}));
  }

  Findings stop(double) override {
    // Gloo's thread reports an all-reduce as done before the observers hear of it. Wait for that,
    // at most a second.
    for (int i = 0; i < 1000 && collection_->open > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    remove();
    Findings findings;
    Amounts own;
    for (const auto& thread : collection_->threads)
      for (const auto& record : thread->own) {
        bool call = true;
        Amount& sum = own[operatorName(record.first(), call)];
        sum.seconds += record.second.seconds;
        if (call) sum.count += record.second.count;
      }
    addView(findings.breakdown, "operator", own, kListedOperators);
    findings.all_reduce = collection_->all_reduce;
    return findings;
  }

 private:
  void remove() {
    if (handle_ == at::INVALID_CALLBACK_HANDLE) return;
    at::removeCallback(handle_);
    handle_ = at::INVALID_CALLBACK_HANDLE;
    collecting.store(nullptr, std::memory_order_release);
  }

  // Never freed: a thread that was stopped in the middle of a callback may still come back to it. A
  // process makes few probes.
  Collection* collection_ = new Collection;
  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
};

}  // namespace

std::string operatorName(std::string_view record, bool& call) {
  // torch calls records by C++ names. The prefix of autograd's evaluation goes, since that wraps
  // the operator proper, which has a record of its own.
  constexpr std::string_view kAround = "autograd::engine::evaluate_function: ", kOwn = "torch::autograd::CppNode<",
                             kAnonymous = "(anonymous namespace)::", kTorch = "torch::autograd::";
  call = !record.starts_with(kAround);
  if (!call) record.remove_prefix(kAround.size());
  std::string name;
  if (record.starts_with(kOwn) && record.ends_with(">")) {
    record.remove_prefix(kOwn.size());
    record.remove_suffix(1);
    name = "backward of ";
  } else if (record.starts_with(kTorch)) {
    record.remove_prefix(kTorch.size());
  }
  name += record;
  if (const size_t at = name.find(kAnonymous); at != std::string::npos) name.erase(at, kAnonymous.size());
  return name;
}

std::unique_ptr<Probe> makeOperatorProbe() { return std::make_unique<OperatorProbe>(); }

}  // namespace expc::profile
