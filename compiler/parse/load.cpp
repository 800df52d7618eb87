#include "compiler/parse/load.h"

#include <llvm/Support/ConvertUTF.h>

#include <algorithm>

namespace expc::parse {

EXPC_DIAGNOSTIC(FileTooLarge, Error, "this file is larger than {0} bytes, the most that is read");
EXPC_DIAGNOSTIC(InvalidUtf8, Error, "byte {0} (0x{1:02X}) is not UTF-8; save the file as UTF-8");
EXPC_DIAGNOSTIC(NulByte, Error, "byte {0} is zero: this is not a text file");

std::optional<source::FileId> load(source::SourceManager& sources, std::string name, std::string text,
                                   diag::Emitter& emitter) {
  if (text.size() > kMaxFileSize) {
    source::FileId file = sources.add(std::move(name), "");
    return emitter.refuse({file, 0, 0}, FileTooLarge, kMaxFileSize);
  }
  source::FileId file = sources.add(std::move(name), std::move(text));
  std::string_view all = sources.text(file);
  const auto* begin = reinterpret_cast<const llvm::UTF8*>(all.data());
  const auto* legal = begin;
  llvm::isLegalUTF8String(&legal, begin + all.size());
  const size_t at = std::min(all.find('\0'), static_cast<size_t>(legal - begin));
  if (at == all.size()) return file;
  const source::Range here{file, static_cast<uint32_t>(at), static_cast<uint32_t>(at + 1)};
  if (all[at] == '\0')
    emitter.emit(here, NulByte, at);
  else
    emitter.emit(here, InvalidUtf8, at, static_cast<unsigned char>(all[at]));
  return std::nullopt;
}

}  // namespace expc::parse
