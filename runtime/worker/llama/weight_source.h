#pragma once

// The way of weights into tensors: any elements of one from a file or a generator, and the part of a unit that a rank
// keeps. With a source for any range no rank ever holds a whole model.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/data/model/llama.h"
#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/llama/nf4.h"

namespace expc::llama {

/// Returns elements [first, first + count) of a weight, row-major with rows in torchtune's order: a flat CPU tensor
/// of one floating-point type for the whole weight. Where values do not matter (rehearsals), the tensor has no memory
/// (at::kMeta), and what is made of it stays uninitialised.
using WeightSource = std::function<at::Tensor(const TensorSpec& spec, int64_t first, int64_t count)>;

/// Elements that are asked for at once when they go elsewhere: few enough to be no burden on the host (16 MiB in
/// fp32), enough that all threads draw.
inline constexpr int64_t kSourcePiece = int64_t{1} << 22;

/// A whole weight as `dtype` on `device`, in its shape.
at::Tensor loadedWeight(const WeightSource& source, const TensorSpec& spec, at::ScalarType dtype, at::Device device);

/// Fills `to` (flat, any device) with the elements of a weight from `first` on; leaves it as it is for a source
/// without values.
void fillFrom(const WeightSource& source, const TensorSpec& spec, int64_t first, const at::Tensor& to);

/// Draws or reads the part of a unit's weights that a rank keeps, and nothing else. All ranks add the same weights in
/// the same order and fill all of them: NF4's scales need the whole weight, so its filling is a collective.
class UnitLoader {
 public:
  UnitLoader(const WeightSource& source, comm::Communicator& communicator)
      : source_(source), communicator_(communicator) {}

  /// Turns `weight` into a description (at::kMeta) of one in `dtype`, to be filled later. The tensor object must not
  /// move until then: its address identifies it.
  void add(const TensorSpec& spec, at::Tensor& weight, at::ScalarType dtype);
  /// Likewise for a weight in NF4, quantised in the source's type.
  void add(const TensorSpec& spec, Nf4& weight);

  /// A ShardedWeights::Fill for the tensors that were added.
  void fill(const at::Tensor* member, int64_t first, const at::Tensor& own);

 private:
  struct Weight {
    const TensorSpec* spec = nullptr;
    const at::Tensor* dense = nullptr;  // either this
    const Nf4* nf4 = nullptr;           // or this
    Nf4 scaled;                         // scales, factors and mean on the host, made along with the codes
  };
  void pack(Weight& weight, int64_t first, const at::Tensor& own);

  const WeightSource& source_;
  comm::Communicator& communicator_;
  std::vector<Weight> weights_;
};

}  // namespace expc::llama
