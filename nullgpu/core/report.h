#pragma once

namespace nullgpu {

/// With NULLGPU_REPORT=1 one line of counters on stderr.
void reportIfAsked();

}  // namespace nullgpu
