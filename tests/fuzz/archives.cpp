#include "tests/fuzz/archives.h"

#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/bundle/archive.h"
#include "tests/fuzz/folder.h"

namespace expc::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlock = 512, kChecksumAt = 148, kChecksumSize = 8, kMagic = 257;
constexpr uint64_t kMost = 1 << 16;

/// The header's sum counts its own bytes as spaces (POSIX.1, ustar).
void mend(char* header) {
  std::memset(header + kChecksumAt, ' ', kChecksumSize);
  const unsigned sum = std::accumulate(header, header + kBlock, 0U,
                                       [](unsigned all, char one) { return all + static_cast<unsigned char>(one); });
  const std::string text = fmt::format("{:06o}", sum & 0777777U);
  std::memcpy(header + kChecksumAt, text.c_str(), text.size() + 1);
}

std::string withMemberSums(std::string bytes) {
  for (size_t at = 0; at + kBlock <= bytes.size(); at += kBlock)
    if (bytes.compare(at + kMagic, 5, "ustar") == 0) mend(&bytes[at]);
  return bytes;
}

}  // namespace

void readBundle(const std::string& bytes) {
  const std::string folder = emptyFolder();
  write(folder + "/bundle", withMemberSums(bytes));
  if (auto error = bundle::unpack(folder + "/bundle", folder + "/out"))
    hold(!toString(std::move(error)).empty(), "an error says something");
  uint64_t total = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder).string();
    hold(name == "bundle" || name == "out" || name.starts_with("out/"), "nothing is written beside the folder");
    hold(!entry.is_symlink(), "no link is made");
    if (entry.is_regular_file() && name != "bundle") total += entry.file_size();
  }
  hold(total <= kMost, "no more is taken out than is asked for");
}

}  // namespace expc::fuzz
