#pragma once

// How weights come to be in tensors: any elements of one, and what a rank keeps of several.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/data/llama/config.h"
#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/llama/nf4.h"

namespace expc::llama {

/// Gives the elements [first, first + count) of a weight, row-major and rows in torchtune's order: a flat tensor on the
/// CPU, of a floating-point type that all of the weight has. Where no value matters it has no memory (at::kMeta), and
/// what is made of it is left as memory is found.
using WeightSource = std::function<at::Tensor(const TensorSpec& spec, int64_t first, int64_t count)>;

/// As many elements as are asked for at once where what they go to is elsewhere: so few that they are no burden on the
/// host, so many that all threads draw.
inline constexpr int64_t kSourcePiece = int64_t{1} << 22;

/// All of a weight in a type on a device, in its shape.
at::Tensor loadedWeight(const WeightSource& source, const TensorSpec& spec, at::ScalarType dtype, at::Device device);

/// Fills `to`, flat and on any device, with the elements of a weight from `first` on.
void fillFrom(const WeightSource& source, const TensorSpec& spec, int64_t first, const at::Tensor& to);

/// Draws or reads what a rank keeps of the weights of a unit, and nothing else of them. Every rank has the same ones in
/// the same order, and fills all of them: what NF4 needs of a whole weight the ranks tell each other.
class UnitLoader {
 public:
  UnitLoader(const WeightSource& source, comm::Communicator& communicator)
      : source_(source), communicator_(communicator) {}

  /// Makes `weight` a description (at::kMeta) of one in `dtype`. It stays where it is until it has been filled.
  void add(const TensorSpec& spec, at::Tensor& weight, at::ScalarType dtype);
  /// The same of one in NF4, quantised in the type that the source has.
  void add(const TensorSpec& spec, Nf4& weight);

  /// As ShardedWeights::Fill.
  void fill(const at::Tensor* member, int64_t first, const at::Tensor& own);

 private:
  struct Weight {
    const TensorSpec* spec = nullptr;
    const at::Tensor* dense = nullptr;  // or
    const Nf4* nf4 = nullptr;
    Nf4 scaled;  // on the host, all but the codes
  };
  void pack(Weight& weight, int64_t first, const at::Tensor& own);

  const WeightSource& source_;
  comm::Communicator& communicator_;
  std::vector<Weight> weights_;
};

}  // namespace expc::llama
