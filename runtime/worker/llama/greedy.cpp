#include "runtime/worker/llama/greedy.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace expc::llama {

std::vector<int64_t> greedy(Decoder& decoder, ArrayRef<int64_t> prompt,
                            const std::function<bool(ArrayRef<int64_t>)>& goes_on,
                            const std::function<int64_t(int64_t)>& agree) {
  at::NoGradGuard no_grad;
  std::vector<int64_t> text(prompt.begin(), prompt.end());
  const auto added = [&] { return ArrayRef<int64_t>(text).drop_front(prompt.size()); };
  const auto on_device = [&](const std::vector<int64_t>& values) {
    return at::tensor(values, at::kLong).to(decoder.options().device);
  };
  while (goes_on(added())) {
    const at::Tensor last = on_device({std::ssize(text) - 1});
    const at::Tensor hidden = decoder.hidden({on_device(text).unsqueeze(0), {}, {}}, last);
    text.push_back(agree(decoder.logits(hidden).argmax(-1).item<int64_t>()));
  }
  return added().vec();
}

}  // namespace expc::llama
