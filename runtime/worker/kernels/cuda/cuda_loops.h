#pragma once

namespace expc::kernels {

/// Adds CUDA's column to the tables of loops: for main functions of programs that use cards.
void addCudaLoops();

}  // namespace expc::kernels
