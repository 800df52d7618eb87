#pragma once

#include <string>

namespace expc::fuzz {

/// Compiles `text` as a study file as far as it goes: load, parse, check, expand, lower. Lines `//D name=value` are
/// overrides. What it says is rendered and dropped; all that counts is that it comes back.
void compileText(const std::string& text);

}  // namespace expc::fuzz
