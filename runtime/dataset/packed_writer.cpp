#include "runtime/dataset/packed_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "runtime/files/files.h"

namespace expc::dataset {
namespace {

template <typename T>
void append(std::vector<uint8_t>& out, const T* values, size_t count) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(values);
  out.insert(out.end(), bytes, bytes + count * sizeof(T));
}

}  // namespace

llvm::Expected<std::unique_ptr<PackedWriter>> PackedWriter::create(const std::string& path,
                                                                   const std::string& temporary,
                                                                   const data::Shape& shape,
                                                                   std::vector<std::string> class_names, uint64_t train,
                                                                   uint64_t test) {
  assert(train > 0 && test > 0 && train < data::kMostPacked && test < data::kMostPacked && !class_names.empty());
  std::unique_ptr<PackedWriter> writer(new PackedWriter);
  writer->path_ = path;
  writer->names_ = std::move(class_names);
  data::PackedHeader& header = writer->header_;
  std::memcpy(header.magic, data::kPackedMagic, sizeof(header.magic));
  header.version = data::kPackedVersion;
  header.rows = static_cast<uint32_t>(shape.rows);
  header.cols = static_cast<uint32_t>(shape.cols);
  header.channels = static_cast<uint32_t>(shape.channels);
  header.classes = static_cast<uint32_t>(writer->names_.size());
  header.train = train;
  header.test = test;
  for (const std::string& name : writer->names_) header.name_bytes += sizeof(uint32_t) + name.size();
  if (writer->names_.size() > data::kMostClasses || header.name_bytes > data::kMostNameBytes)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   fmt::format("{} classes are more than a packed file can hold", header.classes));
  header.pixels_at = data::packedPixelsAt(header);
  header.file_bytes = header.pixels_at + header.images() * header.imageBytes();
  writer->sums_.resize(header.images());
  writer->labels_.resize(header.images());

  writer->file_ = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (writer->file_ < 0) return files::systemError(path, errno);
  // A disk that is too small says so now, where the file system can; else when it is full.
  const auto bytes = static_cast<off_t>(header.file_bytes);
  if (::fallocate(writer->file_, 0, 0, bytes) != 0 && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        fmt::format("{}: {} ({} bytes are needed)", path, std::generic_category().message(errno), header.file_bytes));
  return writer;
}

PackedWriter::~PackedWriter() {
  if (file_ >= 0) ::close(file_);
}

llvm::Error PackedWriter::put(const void* bytes, uint64_t size, uint64_t at) {
  const auto* from = static_cast<const uint8_t*>(bytes);
  while (size > 0) {
    const ssize_t written = ::pwrite(file_, from, size, static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return files::systemError(path_, written < 0 ? errno : ENOSPC);
    from += written;
    at += static_cast<uint64_t>(written);
    size -= static_cast<uint64_t>(written);
  }
  return llvm::Error::success();
}

llvm::Error PackedWriter::write(uint64_t image, uint32_t label, const uint8_t* pixels) {
  assert(image < header_.images() && label < header_.classes);
  labels_[image] = label;
  sums_[image] = data::packedSum({pixels, header_.imageBytes()});
  return put(pixels, header_.imageBytes(), header_.pixels_at + image * header_.imageBytes());
}

std::vector<uint8_t> PackedWriter::index() const {
  std::vector<uint8_t> bytes;
  bytes.reserve(header_.pixels_at);
  append(bytes, sums_.data(), sums_.size());
  append(bytes, labels_.data(), labels_.size());
  for (const std::string& name : names_) {
    const auto length = static_cast<uint32_t>(name.size());
    append(bytes, &length, 1);
    append(bytes, name.data(), name.size());
  }
  bytes.resize(header_.pixels_at - sizeof(header_));
  return bytes;
}

llvm::Expected<data::PackedHeader> PackedWriter::finish() {
  const std::vector<uint8_t> bytes = index();
  header_.index_sum = data::packedSum(bytes);
  header_.header_sum = data::headerSum(header_);
  if (auto error = put(bytes.data(), bytes.size(), sizeof(header_))) return error;
  if (auto error = put(&header_, sizeof(header_), 0)) return error;
  if (::close(std::exchange(file_, -1)) != 0) return files::systemError(path_, errno);
  return header_;
}

}  // namespace expc::dataset
