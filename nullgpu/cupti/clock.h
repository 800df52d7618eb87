#pragma once

#include <cupti.h>

#include <cstdint>

namespace nullgpu::cupti {

/// The clock of records is nullgpu::now(), or a caller's own. Kineto brings one that counts cycles.
void setClock(CUpti_TimestampCallbackFunc clock);

/// A moment of nullgpu::now() on the clock of records: what the caller's clock showed then, by its pace since
/// setClock().
uint64_t recordTime(uint64_t moment);

}  // namespace nullgpu::cupti
