#pragma once

#include <string>

#include "compiler/driver/console.h"

namespace expc::driver {

struct PrepareOptions {
  std::string what;  // "reference"
  std::string from = ".";
  std::string to = "data";
};

/// `expc data prepare reference`: what was downloaded into the folders that the studies of the reference study name.
int prepareData(const PrepareOptions& options, const Console& console);

}  // namespace expc::driver
