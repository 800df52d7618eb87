#pragma once

#include <string>

namespace expc::fuzz {

/// Bytes as a JPEG or PNG image, as a packed file, and as one whose checksums fit: each is read or refused, by its
/// name.
void readImages(const std::string& bytes);

}  // namespace expc::fuzz
