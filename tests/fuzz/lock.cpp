#include "tests/fuzz/lock.h"

#include <llvm/Support/JSON.h>

#include "cli/lock.h"
#include "tests/fuzz/hold.h"

namespace expc::fuzz {

void readLock(const std::string& bytes) {
  auto lock = cli::parseLock(bytes);
  if (!lock) return hold(!toString(lock.takeError()).empty(), "an error says something");
  hold(cli::compareLocks(*lock, *lock, 3).empty(), "a lock means what it means");
  const json::Value nothing = json::Object{{"studies", json::Object{}}};
  (void)cli::compareLocks(*lock, nothing, 3);
  (void)cli::compareLocks(nothing, *lock, 3);
  (void)cli::lockedData(*lock, "study");
}

}  // namespace expc::fuzz
