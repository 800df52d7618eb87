#include "runtime/base/hash.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/Endian.h>

#include "runtime/base/format.h"

namespace expc::base {

uint64_t hashOf(std::string_view text) {
  return llvm::support::endian::read64be(llvm::BLAKE3::hash<8>(llvm::arrayRefFromStringRef(text)).data());
}

std::string shortHash(std::string_view canonical) { return fmt::format("{:016x}", hashOf(canonical)); }

}  // namespace expc::base
