#pragma once

#include <driver_types.h>

namespace nullgpu {

/// Of one of the visible cards. The sizes are those of NVIDIA's cards of that compute capability.
cudaDeviceProp propertiesOf(unsigned card);

}  // namespace nullgpu
