// What one rank does while the others wait.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/comm/process_group.h"

namespace expc::comm {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr char kOperation[] = "what one rank does alone";
constexpr milliseconds kPoll(5);

// One number in the store tells all: signs of life, calls to the others, and how it ended.
constexpr int64_t kAlive = 1, kCall = int64_t{1} << 32, kDone = int64_t{1} << 56, kFailed = int64_t{1} << 57;

int64_t callsIn(int64_t said) { return (said & (kDone - 1)) / kCall; }

llvm::Error workAlone(Group& group, const std::string& key,
                      const std::function<llvm::Error(const CallOthers& call_others)>& work) {
  const auto say = [&](int64_t what) { guarded(group.rendezvous, kOperation, [&] { group.store->add(key, what); }); };
  const auto sayFailed = [&] {
    try {
      say(kFailed);
    } catch (const CommError&) {  // what failed here is what the reader wants to know
    }
  };
  const milliseconds interval = std::clamp(group.rendezvous.timeout / 10, milliseconds(1), milliseconds(1000));
  try {
    llvm::Error error = [&] {
      // A store that cannot be reached ends it: what the rank does next with the others says so.
      const std::jthread signs = repeat(interval, [&] {
        try {
          return group.store->add(key, kAlive) > 0;
        } catch (const std::exception&) {
          return false;
        }
      });
      return work([&] { say(kCall); });
    }();
    if (error) {
      sayFailed();
      return error;
    }
  } catch (...) {
    sayFailed();
    throw;
  }
  say(kDone);
  return llvm::Error::success();
}

void waitForRoot(Group& group, unsigned root, const std::string& key, const std::function<void()>& together) {
  const auto lost = [&](const std::string& why) {
    guarded(group.rendezvous, kOperation, [&] { throw std::runtime_error(why); });
  };
  int64_t heard = 0, calls = 0;
  Clock::time_point last = Clock::now();
  while (true) {
    const int64_t said = guarded(group.rendezvous, kOperation, [&] { return group.store->add(key, 0); });
    for (; calls < callsIn(said); ++calls) together();
    if ((said & kFailed) != 0) lost("rank " + std::to_string(root) + " could not do it");
    if ((said & kDone) != 0) return;
    if (said != heard) {
      heard = said;
      last = Clock::now();
    } else if (Clock::now() - last > group.rendezvous.timeout) {
      lost("rank " + std::to_string(root) + " gave no sign of life for " +
           std::to_string(std::chrono::duration<double>(group.rendezvous.timeout).count()) + " s");
    }
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace

llvm::Error whileOneWorks(Communicator& communicator, unsigned root,
                          const std::function<llvm::Error(const CallOthers& call_others)>& work,
                          const std::function<void()>& together) {
  if (communicator.worldSize() == 1) return work([] {});
  Group& group = communicator.group();
  // All ranks come here equally often: how often names this time.
  const std::string time = guarded(group.rendezvous, kOperation, [&] {
    return std::to_string(group.store->add("expc/alone/of/" + std::to_string(communicator.rank()), 1));
  });
  const std::string key = "expc/alone/" + time;
  if (communicator.rank() == root) return workAlone(group, key, work);
  waitForRoot(group, root, key, together);
  return llvm::Error::success();
}

}  // namespace expc::comm
