// torch over the null libraries: memory holds what is copied, every computation is the kernels that a profile would
// show.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "nullgpu/core/activity.h"

namespace {

const at::TensorOptions kCard = at::TensorOptions().device(at::kCUDA);

/// Counts the kernels that run while it lives.
class Kernels : public nullgpu::Listener {
 public:
  Kernels() { nullgpu::listen(this); }
  ~Kernels() override { nullgpu::listen(nullptr); }

  void happened(const nullgpu::Activity& activity) override {
    const std::lock_guard lock(mutex_);
    if (activity.work == nullgpu::Work::Kernel) names_.emplace_back(activity.name);
  }
  void happened(const nullgpu::Call&) override {}

  /// The number of kernels of that name so far.
  long count(const std::string& name) {
    c10::cuda::device_synchronize();
    const std::lock_guard lock(mutex_);
    return std::ranges::count(names_, name);
  }
  size_t all() {
    c10::cuda::device_synchronize();
    const std::lock_guard lock(mutex_);
    return names_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> names_;
};

}  // namespace

TEST_CASE("What is copied to a card, across cards and back is what it was") {
  REQUIRE(c10::cuda::device_count() == 2);
  const at::Tensor numbers = at::arange(100000);
  const at::Tensor first = numbers.to(kCard);
  const at::Tensor second = first.to(at::Device(at::kCUDA, 1));
  CHECK(at::equal(second.cpu(), numbers));
  CHECK(at::equal(numbers.pin_memory().to(kCard, /*non_blocking=*/true).cpu(), numbers));
}

TEST_CASE("A convolution with its normalisation and its backward pass are kernels of cuDNN") {
  Kernels kernels;
  const at::Tensor image = at::ones({2, 8, 16, 16}, kCard).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  const at::Tensor filter = at::ones({8, 8, 3, 3}, kCard).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  const at::Tensor scale = at::ones({8}, kCard).requires_grad_(), shift = at::zeros({8}, kCard).requires_grad_();
  const at::Tensor mean = at::zeros({8}, kCard), variance = at::ones({8}, kCard);
  const at::Tensor mixed = at::conv2d(image, filter, {}, 1, 1);
  at::batch_norm(mixed, scale, shift, mean, variance, true, 0.1, 1e-5, true).sum().backward();
  CHECK(image.grad().sizes() == image.sizes());
  for (const char* name : {"convolution_forward", "convolution_backward_data", "convolution_backward_filter",
                           "batch_norm_forward", "batch_norm_backward"}) {
    CAPTURE(name);
    CHECK(kernels.count(std::string("cudnn_null_") + name) == 1);
  }
}

TEST_CASE("Products are kernels of cuBLAS, by the type of what they give; autocast takes the narrow one") {
  Kernels kernels;
  const at::Tensor a = at::ones({32, 32}, kCard);
  at::mm(a, a);
  at::addmm(at::ones({32}, kCard), a, a);
  CHECK(kernels.count("cublas_null_gemm_f32") == 2);
  at::mm(a.to(at::kDouble), a.to(at::kDouble));
  CHECK(kernels.count("cublas_null_gemm_f64") == 1);
  at::autocast::set_autocast_enabled(at::kCUDA, true);
  at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
  at::mm(a, a);
  at::autocast::set_autocast_enabled(at::kCUDA, false);
  at::autocast::clear_cache();
  CHECK(kernels.count("cublas_null_gemm_bf16") == 1);
}

TEST_CASE("Attention in bf16 is cuDNN's, as on the card that the null one says it is") {
  Kernels kernels;
  const at::Tensor rows = at::ones({1, 4, 128, 64}, kCard.dtype(at::kBFloat16)).requires_grad_();
  at::scaled_dot_product_attention(rows, rows, rows, {}, 0.0, /*is_causal=*/true).sum().backward();
  CHECK(kernels.count("cudnn_null_attention_forward") == 1);
  CHECK(kernels.count("cudnn_null_attention_backward") == 1);
}

TEST_CASE("A graph takes what is queued and does it at every launch") {
  const at::Tensor a = at::ones({32, 32}, kCard);
  at::mm(a, a);  // makes the handle now, because a capture must not
  at::cuda::CUDAGraph graph;
  {
    const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
    at::mm(a, a);
    c10::cuda::device_synchronize();
    graph.capture_begin();
    at::mm(a, a);
    graph.capture_end();
  }
  Kernels kernels;
  CHECK(kernels.count("cublas_null_gemm_f32") == 0);
  graph.replay();
  graph.replay();
  CHECK(kernels.count("cublas_null_gemm_f32") == 2);
}

TEST_CASE("Memory that a card has not is an error that says how much there is, and the card goes on") {
  CHECK_THROWS_WITH_AS(at::empty({int64_t{5} << 30}, kCard.dtype(at::kByte)),
                       doctest::Contains("total capacity of 4.00 GiB"), c10::OutOfMemoryError);
  Kernels kernels;
  at::ones({4}, kCard).add_(1);
  CHECK(kernels.all() == 2);
}
