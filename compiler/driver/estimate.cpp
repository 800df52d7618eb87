#include "compiler/driver/estimate.h"

#include "runtime/store/store.h"

namespace expc::driver {

llvm::Expected<store::Results> storedOf(const plan::Plan& plan, const std::string& results_folder, bool null_cards) {
  if (!store::isStore(results_folder)) return store::Results{};
  std::vector<std::string> messages;
  llvm::Expected<store::Store> store = store::Store::openForReading(results_folder, messages);
  if (!store) return store.takeError();
  return store->loadLatest(plan, null_cards);
}

}  // namespace expc::driver
