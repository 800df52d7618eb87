#pragma once

namespace nullgpu {

/// From here on an access of the host to a card's memory, or to a host buffer that a copy waits for, ends the process
/// with a message. Other faults go where they went before.
void catchHostTouches();

}  // namespace nullgpu
