#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace expc::check {

/// The rows of a CSV text as RFC 4180 has it (quotes, doubled quotes, CRLF or LF). Nothing for a quote that is never
/// closed or stands inside a bare cell; `problem` says where.
std::optional<std::vector<std::vector<std::string>>> readCsv(std::string_view text, std::string& problem);

}  // namespace expc::check
