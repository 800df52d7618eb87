#include "runtime/export/table.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace expc::exports {

std::string_view toString(Type type) {
  static constexpr std::string_view kWords[] = {"text", "integer", "real", "truth", "time"};
  return kWords[static_cast<size_t>(type)];
}

int64_t microseconds(UnixTime time) {
  // What a foreign store holds may be any number; years of five digits are no dates.
  const double last = 253402300799;
  return std::isfinite(time.seconds) ? std::llround(std::min(std::max(time.seconds, 0.0), last) * 1e6) : 0;
}

std::string timeText(UnixTime time) {
  const int64_t all = microseconds(time);
  const std::time_t whole = all / 1000000;
  std::tm parts{};
  gmtime_r(&whole, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", parts, all % 1000000);
}

}  // namespace expc::exports
