#pragma once

#include <string>

namespace expc::fuzz {

/// Reads bytes as what a model's folder and an adapter's hold: as a safetensors file, as the header of one, and cut at
/// lines of `%%` as config.json (adapter_config.json), a header and model.safetensors.index.json. Checks that reading
/// says what is wrong in a short text or gives what can be used. Ends the process where it does not.
void readModel(const std::string& bytes);

}  // namespace expc::fuzz
