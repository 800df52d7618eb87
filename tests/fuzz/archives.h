#pragma once

#include <string>

namespace expc::fuzz {

/// Bytes as a bundle of a stranger, with the sums of its headers mended. Whatever it is, it is refused in words or
/// taken out, no more of it than is asked for, and nothing beside the folder is touched.
void readBundle(const std::string& bytes);

}  // namespace expc::fuzz
