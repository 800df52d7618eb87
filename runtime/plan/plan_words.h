#pragma once

// The words that stand for enumerators in the schema, in the enumerators' order; writing and reading share them.

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <cstddef>

namespace expc::plan::words {

inline constexpr llvm::StringLiteral kKind[] = {"timed", "quality", "profile"};
inline constexpr llvm::StringLiteral kDirection[] = {"lower", "higher"};
inline constexpr llvm::StringLiteral kShows[] = {"values", "effects", "ranking", "front"};
inline constexpr llvm::StringLiteral kEstimator[] = {"median", "paired_ratio", "paired_difference"};
inline constexpr llvm::StringLiteral kRelation[] = {">=", ">", "<=", "<", "==", "within"};
inline constexpr llvm::StringLiteral kClaim[] = {"forall", "exists", "cell"};
inline constexpr llvm::StringLiteral kOperation[] = {"sum", "difference", "product", "quotient", "ratio", "max", "min"};
inline constexpr llvm::StringLiteral kFrom[] = {"regex", "json", "csv", "lines", "size", "same"};
inline constexpr llvm::StringLiteral kTake[] = {"last", "median", "mean", "sum", "min", "max"};

template <typename Text, typename Enum, size_t N>
constexpr Text name(const Text (&list)[N], Enum value) {
  return list[static_cast<size_t>(value)];
}

}  // namespace expc::plan::words
