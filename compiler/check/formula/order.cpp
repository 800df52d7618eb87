#include "compiler/check/formula/order.h"

#include <vector>

namespace expc::check {

void inOrder(size_t count, llvm::function_ref<void(size_t, llvm::function_ref<void(size_t)>)> needs,
             llvm::function_ref<void(size_t)> visit, llvm::function_ref<void(size_t)> cycle) {
  enum class State : char { New, Active, Done };
  std::vector<State> states(count, State::New);
  const auto enter = [&](auto& self, size_t at) -> void {
    if (states[at] == State::Done) return;
    if (states[at] == State::Active) return cycle(at);
    states[at] = State::Active;
    needs(at, [&](size_t needed) { self(self, needed); });
    states[at] = State::Done;
    visit(at);
  };
  for (size_t at = 0; at < count; ++at) enter(enter, at);
}

}  // namespace expc::check
