#pragma once

// Precompiled for every library of the worker. What is here costs nothing to include; still include what you use.

#include <ATen/ATen.h>
#include <c10/util/irange.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/grad_mode.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
