#pragma once

#include <string>

namespace expc::fuzz {

/// Talks with the language server: an input that begins with "Content" goes over the wire as it is, in pieces; any
/// other is a document that is opened, asked about and edited in places that follow from its bytes. Everything the
/// server says must be JSON that can be written, and every request must be answered.
void talk(const std::string& input);

}  // namespace expc::fuzz
