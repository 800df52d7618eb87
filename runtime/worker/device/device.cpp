#include "runtime/worker/device/device.h"

namespace expc::device {

llvm::Expected<std::unique_ptr<Device>> openDevice(const std::vector<Backend>& backends,
                                                   const llvm::json::Value& slot) {
  const llvm::json::Object* object = slot.getAsObject();
  const llvm::StringRef name = object ? object->getString("device").value_or("") : "";
  std::string known;
  for (const Backend& backend : backends) {
    if (name == llvm::StringRef(backend.name)) return backend.open(slot);
    known += (known.empty() ? "" : ", ") + std::string(backend.name);
  }
  return llvm::createStringError("the slot's device is '" + name + "', this worker knows: " + known +
                                 " (GPUs need expc-worker-cuda, built where a CUDA toolkit is)");
}

}  // namespace expc::device
