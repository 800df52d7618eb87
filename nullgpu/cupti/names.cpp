// Names of CUPTI's numbers.

#include <algorithm>
#include <cctype>
#include <iterator>
#include <unordered_map>

#include "nullgpu/cupti/call.h"

namespace nullgpu::cupti {
namespace {

struct Name {
  uint32_t number;
  const char* text;
};
#include "names.inc"

template <size_t Count>
const char* find(const Name (&names)[Count], uint32_t number) {
  const auto found = std::ranges::find(names, number, &Name::number);
  return found == std::end(names) ? nullptr : found->text;
}

/// Without the version that CUPTI writes behind it: "cudaMemcpyAsync" for "cudaMemcpyAsync_v3020".
std::string_view withoutVersion(std::string_view name) {
  const size_t mark = name.rfind("_v");
  if (mark == std::string_view::npos || mark + 2 == name.size()) return name;
  return std::ranges::all_of(name.substr(mark + 2), [](unsigned char c) { return std::isdigit(c); })
             ? name.substr(0, mark)
             : name;
}

using Callbacks = std::unordered_map<std::string_view, Callback>;

/// Of names that stand there more than once the last is the one of today's CUDA.
Callbacks callbacks() {
  Callbacks all;
  for (const Name& name : kDriverNames)
    all.insert_or_assign(withoutVersion(name.text), Callback{CUPTI_CB_DOMAIN_DRIVER_API, name.number});
  for (const Name& name : kRuntimeNames)
    all.insert_or_assign(withoutVersion(name.text), Callback{CUPTI_CB_DOMAIN_RUNTIME_API, name.number});
  return all;
}

}  // namespace

std::optional<Callback> callbackOf(std::string_view function) {
  static const Callbacks& all = *new Callbacks(callbacks());
  const auto found = all.find(withoutVersion(function));
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace nullgpu::cupti

using namespace nullgpu::cupti;

extern "C" {

/// "cudaLaunchKernel_v7000" of the runtime's domain, "cuLaunchKernel" of the driver's.
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t number, const char** name) {
  const char* known = domain == CUPTI_CB_DOMAIN_RUNTIME_API  ? find(kRuntimeNames, number)
                      : domain == CUPTI_CB_DOMAIN_DRIVER_API ? find(kDriverNames, number)
                                                             : nullptr;
  return known ? give(name, known) : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  const char* known = find(kResultNames, static_cast<uint32_t>(result));
  return known ? give(text, known) : CUPTI_ERROR_INVALID_PARAMETER;
}

}  // extern "C"
