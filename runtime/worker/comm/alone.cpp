// Lets one rank work alone, for minutes perhaps (reading or writing a checkpoint), while the others
// wait on the host. A collective cannot be used for waiting, since its timeout would run out.
// Instead the root adds to one number in the rendezvous' store, and the others poll it: signs of
// life, calls to join a collective, and the end are different bits of that number, so one atomic
// add says each.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include "runtime/base/clock.h"
#include "runtime/base/format.h"
#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/comm/process_group.h"

namespace expc::comm {
namespace {

using std::chrono::milliseconds;

constexpr char kOperation[] = "what one rank does alone";
constexpr milliseconds kPoll(5);

// Parts of the number: signs of life are counted in bits 0 to 31, calls to the others in bits 32 to
// 55; bits 56 and 57 tell how the work ended.
constexpr int64_t kAlive = 1, kCall = int64_t{1} << 32, kDone = int64_t{1} << 56, kFailed = int64_t{1} << 57;

/// The number of calls so far.
int64_t callsIn(int64_t said) { return (said & (kDone - 1)) / kCall; }

/// The root's side: runs `work` while a thread says that it lives, then says how it ended.
Error workAlone(Group& group, const std::string& key, const std::function<Error(const CallOthers& call_others)>& work) {
  const auto say = [&](int64_t what) { guarded(group.rendezvous, kOperation, [&] { group.store->add(key, what); }); };
  const auto sayFailed = [&] {
    try {
      say(kFailed);
      // The work has failed already, and its own error is what the reader wants to know.
    } catch (const CommError&) {
    }
  };
  // At least ten signs per timeout, so that a few may be late.
  const milliseconds interval = std::clamp(group.rendezvous.timeout / 10, milliseconds(1), milliseconds(1000));
  try {
    Error error = [&] {
      // If the store cannot be reached the signs end quietly. The rank notices it by itself in its
      // next exchange with the others.
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
  return Error::success();
}

/// The other ranks' side: polls until the root is done, and runs `together` once for each of its
/// calls. Throws CommError if the root fails or gives no sign for the length of the timeout.
void waitForRoot(Group& group, unsigned root, const std::string& key, const std::function<void()>& together) {
  const auto lost = [&](const std::string& why) {
    guarded(group.rendezvous, kOperation, [&] { throw std::runtime_error(why); });
  };
  int64_t heard = 0, calls = 0;
  base::Clock::time_point last = base::Clock::now();
  while (true) {
    const int64_t said = guarded(group.rendezvous, kOperation, [&] { return group.store->add(key, 0); });
    // Catch up with all calls before looking at the end: the root may have finished in the
    // meantime.
    for (; calls < callsIn(said); ++calls) together();
    if ((said & kFailed) != 0) lost(fmt::format("rank {} could not do it", root));
    if ((said & kDone) != 0) return;
    if (said != heard) {
      heard = said;
      last = base::Clock::now();
    } else if (base::Clock::now() - last > group.rendezvous.timeout) {
      lost(fmt::format("rank {} gave no sign of life for {:f} s", root,
                       std::chrono::duration<double>(group.rendezvous.timeout).count()));
    }
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace

Error whileOneWorks(Communicator& communicator, unsigned root,
                    const std::function<Error(const CallOthers& call_others)>& work,
                    const std::function<void()>& together) {
  if (communicator.worldSize() == 1) return work([] {});
  Group& group = communicator.group();
  // Each use needs a key of its own. All ranks come here equally often, so counting one's own uses
  // gives all the same number.
  const std::string time = guarded(group.rendezvous, kOperation, [&] {
    return std::to_string(group.store->add("expc/alone/of/" + std::to_string(communicator.rank()), 1));
  });
  const std::string key = "expc/alone/" + time;
  if (communicator.rank() == root) return workAlone(group, key, work);
  waitForRoot(group, root, key, together);
  return Error::success();
}

}  // namespace expc::comm
