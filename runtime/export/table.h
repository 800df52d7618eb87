#pragma once

// Tables as an export writes them: columns that say what they hold, and rows that are handed on one at a time, so that
// nothing is held in memory but the records that they are made from.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace expc::exports {

inline constexpr std::string_view kSchema = "expc.export/1";
inline constexpr std::string_view kMeasurements = "measurements", kSeries = "series";

enum class Type { Text, Integer, Real, Truth, Time };
/// "text", "integer", "real", "truth", "time".
std::string_view toString(Type type);

struct Column {
  std::string name;
  Type type = Type::Text;
  std::string what;  // one line: what it holds, and when it is empty
};

/// Seconds of Unix time.
struct UnixTime {
  double seconds = 0;
};

/// A value of a row; std::monostate where there is none. Text is borrowed until the row was written.
using Cell = std::variant<std::monostate, std::string_view, int64_t, double, bool, UnixTime>;
using Row = std::span<const Cell>;

/// Where a table goes. The rows have a cell for each column, of the column's type or none.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void begin(std::string_view table, const std::vector<Column>& columns) = 0;
  virtual void row(Row cells) = 0;
  virtual void end() = 0;
};

/// Microseconds since 1970, no date before that or after the year 9999.
int64_t microseconds(UnixTime time);

/// "2026-11-23T08:13:55.250000Z".
std::string timeText(UnixTime time);

}  // namespace expc::exports
