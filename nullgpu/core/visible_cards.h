#pragma once

#include <string_view>
#include <vector>

namespace nullgpu {

/// What CUDA_VISIBLE_DEVICES=`list` leaves of a machine's `cards`, in its order, by CUDA's rules: numbers or, where the
/// first entry is one, uuids and their beginnings that name one card alone. The first entry that names nothing ends the
/// list; an entry that names a card again empties it.
std::vector<unsigned> visibleCards(std::string_view list, unsigned cards);

}  // namespace nullgpu
