#pragma once

namespace expc::device {

/// From here on this process uses only algorithms that give the same bits each time, on every device: cuDNN's and
/// cuBLAS's deterministic ones, none that is chosen by trying, and an error from an operator that has none. Before any
/// tensor is on a GPU. On the CPU torch's operators and ours are deterministic for a given number of threads anyway.
void useDeterministicAlgorithms();

}  // namespace expc::device
