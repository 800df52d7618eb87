#pragma once

// The two tables of an export ("expc.export/1"; docs/export.md lists the columns).

#include <span>
#include <vector>

#include "runtime/export/source.h"
#include "runtime/export/table.h"

namespace expc::exports {

/// The columns of each table: the fixed ones, then `factor_NAME` for every factor of the studies, in their order.
std::vector<Column> measurementColumns(std::span<const Source> sources);
std::vector<Column> seriesColumns(std::span<const Source> sources);

/// A row for each trial and metric, derived ones included; of a trial without any value one row without a metric. By
/// study, then by trial, then by metric.
void writeMeasurements(std::span<const Source> sources, Sink& sink);

/// A row for each value of each series.
void writeSeries(std::span<const Source> sources, Sink& sink);

}  // namespace expc::exports
