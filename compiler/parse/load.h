#pragma once

#include <optional>
#include <string>

#include "compiler/diag/diagnostic.h"
#include "compiler/source/source.h"

namespace expc::parse {

constexpr size_t kMaxFileSize = 1 << 20;

/// Takes a file's text in: refuses what is larger than 1 MiB, is not UTF-8 or holds NUL bytes, with a diagnostic that
/// names the byte. Every text must pass here before parse().
std::optional<source::FileId> load(source::SourceManager& sources, std::string name, std::string text,
                                   diag::Emitter& emitter);

}  // namespace expc::parse
