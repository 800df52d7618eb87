#pragma once

#include <string>

namespace expc::fuzz {

/// Reads bytes as a tokenizer in either form, as rows of JSON and of CSV for each template, and as text, and checks
/// what holds for any input: reading says what is wrong or gives what can be used; tokens decode to the text; samples
/// are as long as asked for; packs hold every token. Ends the process where it does not.
void readTexts(const std::string& bytes);

}  // namespace expc::fuzz
