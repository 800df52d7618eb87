#pragma once

// An export in each of its formats.

#include <llvm/Support/Error.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/export/table.h"

namespace expc::exports {

/// CSV by RFC 4180 with a line of names, in UTF-8, lines ended by LF. No value is an empty field, an empty text is "".
/// Numbers are the shortest that read back to the same value, reals always with a point; `inf`, `-inf` and `nan` where
/// they are none. `formulas`: texts that a spreadsheet would compute stay as they are; else an apostrophe goes before.
void writeCsv(const Table& table, llvm::raw_ostream& out, bool formulas = true);

/// "expc.export/1": {"schema", "columns": {table: [{"name", "type", "what"}]}, "measurements": [row …], "series": [row
/// …], "reports": [expc.report/1 …]}. A row is an object without the members that have no value; times are text, and
/// numbers that are none the strings "inf", "-inf" and "nan".
void writeJson(std::span<const Source> sources, llvm::raw_ostream& out);

/// Makes a table the Parquet file `path`, whole or not at all. Text is UTF-8, times are microseconds in UTC, each
/// column's field says what it holds. Error: there is no pyarrow, or the file cannot be written.
llvm::Error writeParquet(const std::string& path, const Table& table);

/// Writes the texts of a Parquet file as a JSON object a row to the file `lines`, of the first `most` rows (0: of all);
/// cells without a value, or of another type, are left out. Error: there is no pyarrow, or `path` cannot be read.
llvm::Error parquetTexts(const std::string& path, const std::string& lines, int64_t most);

/// JUnit's XML: a suite for each study, a case for each criterion. A criterion that fails is a failure; one that is not
/// decided an error, since a gate must not take it for a pass; one that a preset does not ask is skipped.
std::string junit(std::span<const Source> sources);

/// Bencher Metric Format (<https://bencher.dev/docs/reference/bencher-metric-format>): by "STUDY FACTOR=LEVEL …" and
/// metric, the median as value, and the ends of its interval as lower and upper values, in base units.
std::string bencher(std::span<const Source> sources);

/// Writes JSON for github-action-benchmark (customSmallerIsBetter or customBiggerIsBetter): the medians that Bencher
/// gets, of the metrics whose better direction is `better`.
std::string actionBenchmark(std::span<const Source> sources, plan::Direction better);

/// Writes these medians as gauges of OpenMetrics 1.0, `expc_METRIC_UNIT` with study, point and factors as labels; the
/// label `of` is median, low or high.
std::string openMetrics(std::span<const Source> sources);

/// Text for XML's content and quoted attributes: everything that could be markup is escaped, and what XML 1.0 cannot
/// hold is U+FFFD.
std::string xml(std::string_view text);

/// A summary for a pull request, in GitHub's and GitLab's Markdown: each study's verdicts with why, the cells of its
/// criteria and its tables folded away, and what is missing.
std::string markdown(std::span<const Source> sources);

/// Text that stands in Markdown as it is: it makes no markup, no HTML, no table cell and no line of its own, and names
/// nobody (@), no issue (#) and no address (://).
std::string markdownText(std::string_view text);

}  // namespace expc::exports
