#pragma once

// Writes a record of each thing that happens, where its kind is asked for.

#include <cupti.h>

#include "nullgpu/cupti/names.h"

namespace nullgpu::cupti {

/// CUPTI_ERROR_INVALID_KIND, or CUPTI_ERROR_NOT_COMPATIBLE for both kinds of kernels at a time.
CUptiResult enable(CUpti_ActivityKind kind, bool on);
/// One function of the runtime or the driver alone.
CUptiResult enable(Callback callback, bool on);
void disableAll();

/// The clock of records is nullgpu::now(), or a caller's own. Kineto brings one that counts cycles.
void setClock(CUpti_TimestampCallbackFunc clock);

}  // namespace nullgpu::cupti
