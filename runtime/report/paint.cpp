#include "runtime/report/paint.h"

#include "runtime/base/format.h"

namespace expc::report {

std::string Paint::paint(std::string_view code, std::string_view text) const {
  return on_ && !text.empty() ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

Paint::Brush Paint::of(std::string_view style) {
  return style == "pass"   ? &Paint::green
         : style == "fail" ? &Paint::red
         : style == "none" ? &Paint::faint
         : style.empty()   ? &Paint::plain
                           : &Paint::yellow;
}

}  // namespace expc::report
