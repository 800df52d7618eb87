#include "runtime/worker/text/batches.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace expc::text {
namespace {

void countLearnt(TokenBatch& batch) {
  if (batch.columns == 0) return;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const auto begin = batch.labels.begin() + row * batch.columns;
    batch.learnt += std::count_if(begin + 1, begin + batch.columns, [](int64_t label) { return label != kMasked; });
  }
}

class Packer {
 public:
  Packer(size_t size, bool split) : size_(size), split_(split) {}

  llvm::Error add(const Sample& sample, size_t number) {
    if (!split_ && sample.size() > size_)
      return failure("sample {} has {} tokens, a pack holds {}; cut samples to that (max_length), or pack without",
                     number, sample.size(), size_);
    if (!split_ && pack_.tokens.size() + sample.size() > size_) emit();
    for (size_t at = 0; at < sample.size();) {
      if (pack_.tokens.size() == size_) emit();
      const size_t count = std::min(sample.size() - at, size_ - pack_.tokens.size());
      append(sample, at, count);
      at += count;
    }
    return llvm::Error::success();
  }

  std::vector<Pack> take() {
    if (!pack_.tokens.empty()) emit();
    return std::move(packs_);
  }

 private:
  void append(const Sample& sample, size_t at, size_t count) {
    const auto copy = [&](const std::vector<Token>& from, std::vector<Token>& to) {
      const auto begin = from.begin() + static_cast<std::ptrdiff_t>(at);
      to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    copy(sample.tokens, pack_.tokens);
    copy(sample.labels, pack_.labels);
    for (size_t i = at; i < at + count; ++i) pack_.positions.push_back(static_cast<int32_t>(i % size_));
    pack_.lengths.push_back(static_cast<int32_t>(count));
  }

  void emit() {
    const size_t real = pack_.tokens.size(), padding = size_ - real;
    pack_.real = static_cast<int32_t>(real);
    pack_.tokens.resize(size_, 0);
    pack_.labels.resize(size_, kMasked);
    if (padding > 0) pack_.lengths.push_back(static_cast<int32_t>(padding));
    while (pack_.positions.size() < size_)
      pack_.positions.push_back(std::min(pack_.positions.back() + 1, static_cast<int32_t>(size_) - 1));
    packs_.push_back(std::move(pack_));
    pack_ = {};
  }

  const size_t size_;
  const bool split_;
  Pack pack_;
  std::vector<Pack> packs_;
};

}  // namespace

TokenBatch collate(llvm::ArrayRef<const Sample*> samples, Token pad) {
  TokenBatch batch;
  batch.rows = static_cast<int64_t>(samples.size());
  for (const Sample* sample : samples) batch.columns = std::max(batch.columns, static_cast<int64_t>(sample->size()));
  const auto size = static_cast<size_t>(batch.rows * batch.columns);
  batch.tokens.assign(size, pad);
  batch.labels.assign(size, kMasked);
  for (size_t row = 0; row < samples.size(); ++row) {
    const Sample& sample = *samples[row];
    const auto at = static_cast<std::ptrdiff_t>(row) * batch.columns;
    std::copy(sample.tokens.begin(), sample.tokens.end(), batch.tokens.begin() + at);
    std::copy(sample.labels.begin(), sample.labels.end(), batch.labels.begin() + at);
    batch.real += static_cast<int64_t>(sample.size());
  }
  countLearnt(batch);
  return batch;
}

TokenBatch collatePairs(llvm::ArrayRef<const Sample*> chosen, llvm::ArrayRef<const Sample*> rejected, Token pad) {
  assert(chosen.size() == rejected.size());
  std::vector<const Sample*> all(chosen.begin(), chosen.end());
  all.insert(all.end(), rejected.begin(), rejected.end());
  return collate(all, pad);
}

llvm::Expected<std::vector<Pack>> packSamples(llvm::ArrayRef<Sample> samples, size_t size, bool split) {
  assert(size > 0);
  Packer packer(size, split);
  for (size_t i = 0; i < samples.size(); ++i)
    if (auto error = packer.add(samples[i], i + 1)) return error;
  return packer.take();
}

std::vector<size_t> packBounds(llvm::ArrayRef<int64_t> lengths, int64_t size) {
  std::vector<size_t> bounds;
  int64_t filled = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (bounds.empty() || filled + lengths[i] > size) {
      bounds.push_back(i);
      filled = 0;
    }
    filled += lengths[i];
  }
  bounds.push_back(lengths.size());
  return bounds;
}

TokenBatch collatePacks(llvm::ArrayRef<const Pack*> packs) {
  TokenBatch batch;
  batch.rows = static_cast<int64_t>(packs.size());
  for (const Pack* pack : packs) {
    assert(batch.columns == 0 || batch.columns == static_cast<int64_t>(pack->tokens.size()));
    batch.columns = static_cast<int64_t>(pack->tokens.size());
    batch.tokens.insert(batch.tokens.end(), pack->tokens.begin(), pack->tokens.end());
    batch.labels.insert(batch.labels.end(), pack->labels.begin(), pack->labels.end());
    batch.positions.insert(batch.positions.end(), pack->positions.begin(), pack->positions.end());
    batch.lengths.emplace_back(pack->lengths.begin(), pack->lengths.end());
    batch.real += pack->real;
  }
  countLearnt(batch);
  return batch;
}

}  // namespace expc::text
