#pragma once

#include <optional>
#include <string>

namespace expc::format_test {

/// What formatting `text` breaks of its promises, in a sentence; nothing where it keeps them or refuses the text for
/// syntax errors. The promises: it comes back; same tokens, same comments between them, same syntax tree; formatting
/// again changes nothing; no blanks end a line; a diff of it can be made.
std::optional<std::string> brokenPromise(const std::string& text);

/// `text` with other white space between its tokens, some comments more, some names longer: what `seed` makes of it.
std::string scrambled(const std::string& text, unsigned seed);

/// Whether `text` has no syntax error, so that the above says something.
bool isFormatted(const std::string& text);

}  // namespace expc::format_test
