#pragma once

// Looks at every row of a text set: lengths, tokens by role, copies, and rows that a training refuses, cuts or learns
// nothing from. Rows are read and encoded by the readers of a trial, so both agree on what a row is; unlike a trial, an
// inspection goes on after a row that it refuses.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/base/parallel.h"
#include "runtime/data/dataset/problems.h"
#include "runtime/data/text/token_rows.h"

namespace expc::dataset {

/// The rows to inspect: as a trial would open them, without made-up ones. A `vocabulary` of 0 is unknown.
struct RowsSource {
  text::TokenRowsOptions rows;
  std::string validation;  // a file or folder of held-out rows; "": none
  std::string questions;   // a file of questions to the tuned model; "": none
};

/// Refuses rows from which no trial could be made, as the worker would: training rows, and for trials that evaluate
/// held-out rows and questions. Only the latter two are encoded. Of each file as much is read as
/// `source.rows.data.byte_limit` lets in; `in_part` gets "FILE after row N" for a file of rows that has more.
Error checkRows(const RowsSource& source, bool evaluates, unsigned threads, std::vector<std::string>& in_part);

/// Messages of one role, and their tokens with header and end of turn.
struct RoleShare {
  int64_t messages = 0, tokens = 0;
};

/// The weights of the learnt messages of a row, or of the pair.
struct WeightRange {
  double least = 1, most = 1;

  bool plain() const { return least == 1 && most == 1; }
};

/// A description of the rows that were read.
struct RowsReport {
  std::string origin, validation, questions;  // files; the latter two may be ""
  std::string tokenizer;
  bool pairs = false;
  int64_t held_out = 0, asked = 0;  // rows of the validation file, and questions, that were read
  std::vector<int64_t> numbers;     // rows that were read, counted from 1 in the file
  std::vector<int64_t> lengths;     // tokens of each row before cutting; the longer text of a pair
  std::map<text::Role, RoleShare> roles;
  int64_t tokens = 0, learnt = 0;  // of all texts, after cutting
  int64_t weighted = 0;            // rows with weights other than 1 and 0
  WeightRange weights;             // of these
  std::vector<Problem> problems;   // worst first

  /// The index of the longest row, the first if several are; there must be one.
  size_t longest() const;
};

/// Inspects rows. Faults of rows, files and the tokenizer are problems of the result; an error is only what `tick`
/// returns.
Expected<RowsReport> inspectRows(const RowsSource& source, unsigned threads, const base::Tick& tick = nullptr);

/// The median; there must be a value.
double medianOf(const std::vector<int64_t>& values);

/// Rows whose lengths are from `first` to `last`.
struct LengthBin {
  int64_t first = 0, last = 0, rows = 0;
};
/// A histogram of lengths: bins that double, each cut into as many parts as keep the number of bins readable.
std::vector<LengthBin> binsOf(const std::vector<int64_t>& lengths);

}  // namespace expc::dataset
