#include "runtime/worker/device/device.h"

#include <string>

#include "runtime/base/parallel.h"
#include "runtime/worker/device/graph.h"

namespace expc::device {

std::unique_ptr<Graph> Device::graph() { return nullptr; }

int slotThreads(const llvm::json::Value& slot) {
  const llvm::json::Object* object = slot.getAsObject();
  if (object) {
    if (const auto threads = object->getInteger("threads"); threads && *threads > 0) return static_cast<int>(*threads);
    const llvm::json::Array* cores = object->getArray("cores");
    if (cores && !cores->empty()) return static_cast<int>(cores->size());
  }
  return static_cast<int>(base::allCores());
}

llvm::Expected<std::unique_ptr<Device>> openDevice(const std::vector<Backend>& backends,
                                                   llvm::ArrayRef<llvm::json::Value> slots) {
  const llvm::json::Object* object = slots.front().getAsObject();
  const llvm::StringRef name = object ? object->getString("device").value_or("") : "";
  std::string known;
  for (const Backend& backend : backends) {
    if (name == llvm::StringRef(backend.name)) return backend.open(slots);
    known += (known.empty() ? "" : ", ") + std::string(backend.name);
  }
  return llvm::createStringError("the slot's device is '" + name + "', this worker knows: " + known +
                                 " (GPUs need expc-worker-cuda: tools/setup --gpu, then make build)");
}

}  // namespace expc::device
