#pragma once

#include "compiler/check/program.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/load/load.h"
#include "compiler/source/source.h"

namespace expc::check {

/// Checks a file and all it imports; of one with syntax errors only its names. Reports E02xx, E03xx.
/// Reads no file and never looks at the machine: `lookup` answers what estimates ask of files when a study is expanded
/// (an empty one: they have no value there). Always returns; whether it succeeded is `emitter.errors()`.
Program check(source::SourceManager& sources, load::Modules modules, diag::Emitter& emitter, Lookup lookup = {});

}  // namespace expc::check
