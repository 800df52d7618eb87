#include "runtime/files/form.h"

#include <utility>

#include "runtime/base/failure.h"
#include "runtime/files/files.h"

namespace expc::files {

std::string_view formOf(llvm::StringRef bytes) {
  constexpr std::string_view kUtf16 = "UTF-16 text: make it UTF-8 with iconv -f UTF-16 -t UTF-8";
  constexpr std::string_view kPage = "an HTML page, which a download that asks to log in leaves";
  constexpr std::pair<llvm::StringLiteral, std::string_view> kForms[] = {
      {"\x1f\x8b", "gzip data: unpack it with gunzip"},
      {"\x28\xb5\x2f\xfd", "zstd data: unpack it with unzstd"},
      {"\xfd\x37zXZ", "xz data: unpack it with unxz"},
      {"version https://git-lfs", "a Git LFS pointer in place of the file: git lfs pull brings it"},
      {"PK\3\4", "a zip archive; one of torch.save holds a pickle: save with safetensors.torch.save_file"},
      {"PAR1\x15", "a Parquet file: write its rows as CSV or JSONL"},
      {"\xff\xfe", kUtf16},
      {"\xfe\xff", kUtf16},
      {"<!DOCTYPE", kPage},
      {"<!doctype", kPage},
      {"<html", kPage},
  };
  if (bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5 && bytes[2] != 0)
    return "a pickle, which may run anything and is never loaded: save with safetensors.torch.save_file";
  for (const auto& [begins, name] : kForms)
    if (bytes.starts_with(begins)) return name;
  return "";
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> mapText(const std::string& path, uint64_t most,
                                                            llvm::StringRef way_out) {
  auto buffer = map(path, most);
  if (!buffer) return base::failure("{}; {}", llvm::toString(buffer.takeError()), way_out.str());
  if (const auto form = formOf((*buffer)->getBuffer()); !form.empty()) return base::failure("{}: it is {}", path, form);
  return buffer;
}

}  // namespace expc::files
