#pragma once

// The formats of `expc export`: each function turns judged studies (Source) or a table into one format, for other
// programs to read. All are complete in memory except CSV and JSON, which stream. Layouts that we define are versioned
// (expc.export/1) and listed in docs/export.md; the others follow the standards named here. Functions on text that may
// come from strangers escape it for their format.

#include <llvm/Support/raw_ostream.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/llvm.h"
#include "runtime/export/table.h"

namespace expc::exports {

/// Writes CSV by RFC 4180: a line of names first, UTF-8, lines ended by LF. A missing value is an empty field, an empty
/// text is "". Numbers are the shortest that read back to the same value; reals always have a point, and are `inf`,
/// `-inf` or `nan` if they are not finite. Without `formulas`, texts that a spreadsheet would compute get an apostrophe
/// in front.
void writeCsv(const Table& table, llvm::raw_ostream& out, bool formulas = true);

/// Writes both tables and the reports as one document "expc.export/1": {"schema", "columns": {table: [{"name", "type",
/// "what"}]}, "measurements": [row …], "series": [row …], "reports": [expc.report/1 …]}. A row is an object without the
/// members that have no value; times are text, and numbers that are not finite are the strings "inf", "-inf" and "nan".
void writeJson(std::span<const Source> sources, llvm::raw_ostream& out);

/// Writes a table as the Parquet file `path`, whole or not at all, by Python with pyarrow. Text is UTF-8, times are
/// microseconds in UTC, and each field carries the description of its column. Error: pyarrow is missing, or the file
/// cannot be written.
Error writeParquet(const std::string& path, const Table& table);

/// Converts the first `most` rows of a Parquet file (0: all) to JSON objects, one a line, in the file `lines`. Only
/// text cells are kept. Error: pyarrow is missing, or `path` cannot be read.
Error parquetTexts(const std::string& path, const std::string& lines, int64_t most);

/// Returns JUnit's XML: a suite for each study, a case for each criterion and for each thing that is missing. A
/// criterion that fails is a failure. An undecided one is an error, since a gate must not take it for a pass. A
/// criterion that a preset does not ask is skipped.
std::string junit(std::span<const Source> sources);

/// Returns Bencher Metric Format (<https://bencher.dev/docs/reference/bencher-metric-format>): for each "STUDY
/// FACTOR=LEVEL …" and metric the median as value and the ends of its interval as lower and upper value, in base units.
std::string bencher(std::span<const Source> sources);

/// Returns JSON for github-action-benchmark (customSmallerIsBetter or customBiggerIsBetter): the same medians, of
/// metrics whose better direction is `better`, since that tool takes one direction for a whole file.
std::string actionBenchmark(std::span<const Source> sources, plan::Direction better);

/// Returns the same medians as gauges of OpenMetrics 1.0, named `expc_METRIC_UNIT`, with study, point and factors as
/// labels; the label `of` is median, low or high.
std::string openMetrics(std::span<const Source> sources);

/// Escapes text for XML's content and quoted attributes. Characters that XML 1.0 cannot hold become U+FFFD.
std::string xml(std::string_view text);

/// The longest comment that GitHub accepts.
inline constexpr size_t kMostMarkdown = 65'536;
/// Returns a summary for a pull request, in the Markdown of GitHub and GitLab: the verdicts of each study with their
/// reasons, the cells of criteria and the tables folded away, and what is missing.
/// The least important tables are left out, with a line, if the text would be longer than `most` bytes; 0: no limit.
std::string markdown(std::span<const Source> sources, size_t most = kMostMarkdown);

/// Escapes text so that Markdown shows it as it is: it makes no markup, no HTML, no table cell and no line of its own,
/// and neither mentions anybody (@), refers to an issue (#), nor links an address (://).
std::string markdownText(std::string_view text);

}  // namespace expc::exports
