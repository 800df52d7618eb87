#include "runtime/export/table.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <ctime>

namespace expc::exports {

std::string_view toString(Type type) {
  switch (type) {
    case Type::Text:
      return "text";
    case Type::Integer:
      return "integer";
    case Type::Real:
      return "real";
    case Type::Truth:
      return "truth";
    case Type::Time:
      return "time";
  }
  return "";
}

std::string timeText(UnixTime time) {
  // What a foreign store holds may be any number; years of five digits are no dates.
  const double last = 253402300799;
  const double seconds = std::isfinite(time.seconds) ? std::min(std::max(time.seconds, 0.0), last) : 0;
  const auto whole = static_cast<std::time_t>(seconds);
  const auto micro = std::min(999999L, std::lround((seconds - static_cast<double>(whole)) * 1e6));
  std::tm parts{};
  gmtime_r(&whole, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", parts, micro);
}

}  // namespace expc::exports
