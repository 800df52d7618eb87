#pragma once

// Precompiled for every library of the worker. A file that includes it instantiates all templates that are used in it
// again, which takes a second and a half, so headers of few files are not here. Still include what you use.

#include <ATen/ATen.h>
#include <c10/util/irange.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>
#include <torch/csrc/autograd/variable.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
