#include "tests/source_dir.h"

namespace expc::test {

std::string sourceDir() { return EXPC_SOURCE_DIR; }

}  // namespace expc::test
