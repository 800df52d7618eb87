#pragma once

#include <string>

namespace expc::test {

/// The folder of the project's sources, for tests that read its files. The one place that is compiled with its path, so
/// that objects of a test are the same in every clone and a compiler's cache has them.
std::string sourceDir();

}  // namespace expc::test
