#include "runtime/worker/profile/cuda/cupti_records.h"

#include <cupti_callbacks.h>

namespace expc::profile {
namespace {

Direction directionOf(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return Direction::HostToDevice;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return Direction::DeviceToHost;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return Direction::HostToHost;
    default:
      return Direction::DeviceToDevice;
  }
}

template <typename Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

}  // namespace

std::optional<Activity> activityOf(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_RUNTIME: {
      const auto& call = as<CUpti_ActivityAPI>(record);
      const char* name = nullptr;
      if (cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, call.cbid, &name) != CUPTI_SUCCESS || !name)
        name = "unknown call";
      return Activity{Activity::Kind::Call, name, {}, call.start, call.end, 0, 0};
    }
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = as<CUpti_ActivityKernel10>(record);
      return Activity{
          Activity::Kind::Kernel, kernel.name ? kernel.name : "unknown kernel", {}, kernel.start, kernel.end, 0,
          kernel.deviceId};
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = as<CUpti_ActivityMemcpy6>(record);
      return Activity{Activity::Kind::Copy, "",           directionOf(copy.copyKind), copy.start, copy.end,
                      copy.bytes,           copy.deviceId};
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto& copy = as<CUpti_ActivityMemcpyPtoP4>(record);
      return Activity{Activity::Kind::Copy, "",           Direction::DeviceToDevice, copy.start, copy.end,
                      copy.bytes,           copy.deviceId};
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = as<CUpti_ActivityMemset4>(record);
      return Activity{Activity::Kind::Fill, "", {}, fill.start, fill.end, fill.bytes, fill.deviceId};
    }
    default:
      return std::nullopt;
  }
}

std::string resultText(CUptiResult result) {
  const char* text = nullptr;
  if (cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text) return text;
  return "CUPTI error " + std::to_string(static_cast<int>(result));
}

}  // namespace expc::profile
