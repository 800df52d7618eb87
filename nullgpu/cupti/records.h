#pragma once

#include <cupti.h>

#include "nullgpu/core/activity.h"
#include "nullgpu/cupti/names.h"

namespace nullgpu::cupti {

/// The clock of records is nullgpu::now(), or a caller's own. Kineto brings one that counts cycles.
void setClock(CUpti_TimestampCallbackFunc clock);

// What happened, in CUPTI's words. What a null card has nothing to say of is zero.

CUpti_ActivityKernel10 kernelRecord(const Activity& activity, CUpti_ActivityKind kind);
/// Between the host and a card, or within one.
CUpti_ActivityMemcpy6 copyRecord(const Activity& activity);
CUpti_ActivityMemcpyPtoP4 peerCopyRecord(const Activity& activity);
CUpti_ActivityMemset4 setRecord(const Activity& activity);
/// Of the thread that calls this.
CUpti_ActivityAPI callRecord(const Call& call, const Callback& callback);

}  // namespace nullgpu::cupti
