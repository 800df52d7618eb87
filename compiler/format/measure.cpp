#include "compiler/format/measure.h"

#include "compiler/format/spacing.h"

namespace expc::format {

Measure::Measure(const File& file) {
  const std::vector<Piece>& pieces = file.pieces;
  start_.resize(pieces.size());
  stop_.resize(pieces.size());
  comments_.resize(pieces.size());
  stop_[0] = pieces[0].width;
  for (uint32_t at = 1; at < pieces.size(); ++at) {
    start_[at] = stop_[at - 1] + blanksBetween(pieces[at - 1], pieces[at]);
    stop_[at] = start_[at] + pieces[at].width;
    const bool comment = pieces[at - 1].trailing || !pieces[at].leading.empty();
    comments_[at] = comments_[at - 1] + (comment ? 1 : 0);
  }
  open_.resize(pieces.size() + 1);
  for (uint32_t at = static_cast<uint32_t>(pieces.size()); at-- > 0;) {
    open_[at] = open_[at + 1];
    const Piece& piece = pieces[at];
    if (!piece.opens() || piece.brace_of_block) continue;
    const bool empty = piece.partner == at + 1;
    const bool inner = open_[at + 1] != open_[piece.partner];
    if (inner || hasComment(at, piece.partner + 1) || (!empty && file.startsLine(at + 1))) ++open_[at];
  }
}

unsigned Measure::width(uint32_t begin, uint32_t end) const { return stop_[end - 1] - start_[begin]; }

bool Measure::mayBeFlat(uint32_t begin, uint32_t end) const {
  return !hasComment(begin, end) && open_[begin] == open_[end];
}

bool Measure::staysOpen(uint32_t bracket) const { return open_[bracket] != open_[bracket + 1]; }

}  // namespace expc::format
