#pragma once

// The one entry of this phase: modules go in, a Program comes out (program.h, model.h). All files of this room
// serve it; checker.h declares its parts.

#include "compiler/check/program.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/diag/source.h"
#include "compiler/parse/load.h"

namespace expc::check {

/// Checks a file and everything it imports; reports E02xx and E03xx. If some file has syntax errors, names are
/// resolved for editors, but nothing is reported and no study is valid. Reads no file and never looks at the
/// machine: `lookup` answers what estimates ask of files when a study is expanded (if empty, such estimates
/// have no value). `overrides` are the texts of `-D`: those that name a constant of a study replace its value, all
/// others are left to select. Always returns a program; `emitter.errors()` tells whether it is free of errors.
/// `sources` must outlive it.
Program check(source::SourceManager& sources, load::Modules modules, diag::Emitter& emitter, Lookup lookup = {},
              std::vector<std::string> overrides = {});

}  // namespace expc::check
