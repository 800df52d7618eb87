#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/formula/formula.h"

namespace expc::driver {

/// What estimates ask of files (compiler/formula/lookup.h), each read once: a model's sizes as the worker reads them,
/// the lengths of rows as it would cut them. Of what is missing or damaged nothing is known.
class FileLookups {
 public:
  /// Relative paths start at the folder of `study`.
  explicit FileLookups(const std::string& study);

  check::Lookup function() const;
  /// What could not be read, and what that means for the plan; a line each, in the order in which it was asked for.
  const std::vector<std::string>& notes() const;

 private:
  class Files;
  std::shared_ptr<Files> files_;
};

}  // namespace expc::driver
