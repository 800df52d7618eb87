#include "runtime/dataset/shapes.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/base/split_mix.h"

namespace expc::dataset {
namespace {

class Random {
 public:
  explicit Random(uint64_t state) : state_(state) {}
  uint64_t next() { return base::splitMix(state_); }
  /// From low to high, both included.
  int64_t within(int64_t low, int64_t high) {
    return low + static_cast<int64_t>((next() >> 32) * static_cast<uint64_t>(high - low + 1) >> 32);
  }

 private:
  uint64_t state_;
};

struct Named {
  const char* name;
  std::array<int, 3> colour;
};
constexpr Named kColours[] = {{"red", {215, 30, 30}},     {"green", {30, 175, 50}},    {"blue", {35, 60, 215}},
                              {"yellow", {230, 215, 35}}, {"magenta", {210, 40, 190}}, {"cyan", {40, 205, 215}},
                              {"black", {15, 15, 15}},    {"white", {245, 245, 245}}};
constexpr const char* kForms[] = {"disc", "ring", "square", "frame", "triangle", "cross", "bar", "star"};
constexpr int64_t kForm = std::size(kForms), kColour = std::size(kColours);
static_assert(kForm * kColour == kMostShapeClasses);

int64_t formOf(int64_t label) { return label % kForm; }
int64_t colourOf(int64_t label) { return (label + label / kForm) % kColour; }

constexpr int64_t kUnit = 1024;  // the radius of a form

/// Whether a place in a form's own coordinates lies in it.
bool inside(int64_t form, int64_t u, int64_t v) {
  const int64_t a = std::abs(u), b = std::abs(v), square = u * u + v * v;
  switch (form) {
    case 0:
      return square <= 900 * 900;
    case 1:
      return square <= 960 * 960 && square >= 560 * 560;
    case 2:
      return std::max(a, b) <= 740;
    case 3:
      return std::max(a, b) <= 800 && std::max(a, b) >= 470;
    case 4:
      return v <= 512 && a * 1536 <= 887 * (v + 1024);
    case 5:
      return std::min(a, b) <= 280 && std::max(a, b) <= 980;
    case 6:
      return a <= 270 && b <= 1000;
    default:
      return std::max(a, b) <= 1000 && a * b <= 80'000;
  }
}

/// Where the form lies: positions in quarters of a pixel, the turn in units of 1 / 4096.
struct Placed {
  int64_t form, x, y, radius, cosine, sine;

  Placed(int64_t label, int64_t size, Random& random) : form(formOf(label)) {
    x = random.within(size * 4 * 35 / 100, size * 4 * 65 / 100);
    y = random.within(size * 4 * 35 / 100, size * 4 * 65 / 100);
    radius = random.within(size * 4 * 18 / 100, size * 4 * 32 / 100);
    // Any angle without a table of sines: (d2 - n2, 2nd) / (d2 + n2), then quarters of a turn.
    const int64_t d = 64, n = random.within(0, d), quarter = random.within(0, 3);
    cosine = 4096 * (d * d - n * n) / (d * d + n * n);
    sine = 4096 * 2 * n * d / (d * d + n * n);
    for (int64_t i = 0; i < quarter; ++i) cosine = std::exchange(sine, cosine) * -1;
  }

  /// How much of a pixel it covers, in quarters.
  int covers(int64_t col, int64_t row) const {
    int result = 0;
    for (int64_t sample = 0; sample < 4; ++sample) {
      const int64_t dx = col * 4 + (sample % 2 == 0 ? 1 : 3) - x, dy = row * 4 + (sample / 2 == 0 ? 1 : 3) - y;
      const int64_t u = (dx * cosine + dy * sine) * kUnit / (radius * 4096);
      const int64_t v = (dy * cosine - dx * sine) * kUnit / (radius * 4096);
      result += inside(form, u, v) ? 1 : 0;
    }
    return result;
  }
};

/// A lattice of random colours, interpolated between its points.
class Ground {
 public:
  Ground(int64_t size, int64_t cell, Random& random) : cell_(cell), across_(size / cell + 2) {
    points_.resize(static_cast<size_t>(across_ * across_ * 3));
    for (auto& value : points_) value = static_cast<uint8_t>(random.next() >> 56);
  }
  /// 0 to 255.
  int64_t at(int64_t col, int64_t row, int64_t channel) const {
    const int64_t x = col % cell_, y = row % cell_;
    const uint8_t* p = points_.data() + ((row / cell_) * across_ + col / cell_) * 3 + channel;
    const int64_t above = p[0] * (cell_ - x) + p[3] * x;
    const int64_t below = p[across_ * 3] * (cell_ - x) + p[across_ * 3 + 3] * x;
    return (above * (cell_ - y) + below * y) / (cell_ * cell_);
  }

 private:
  int64_t cell_, across_;
  std::vector<uint8_t> points_;
};

}  // namespace

std::string shapeClass(int64_t label) {
  return std::string(kColours[colourOf(label)].name) + "_" + kForms[formOf(label)];
}

void drawShape(int64_t label, int64_t size, uint64_t seed, bool test, int64_t number, uint8_t* out) {
  Random random(seed);
  random = Random(random.next() + (test ? 1 : 0));
  random = Random(random.next() + static_cast<uint64_t>(number));
  const Placed form(label, size, random);
  std::array<int64_t, 3> colour;
  for (size_t c = 0; c < 3; ++c) colour[c] = kColours[colourOf(label)].colour[c] + random.within(-15, 15);
  const Ground coarse(size, std::max<int64_t>(1, size / 10), random), fine(size, 4, random);
  for (int64_t row = 0; row < size; ++row)
    for (int64_t col = 0; col < size; ++col) {
      const int64_t covered = form.covers(col, row);
      const uint64_t noise = random.next();
      for (int64_t c = 0; c < 3; ++c) {
        const int64_t ground = (coarse.at(col, row, c) * 70 + fine.at(col, row, c) * 25) / 100;
        // The form keeps a little of the ground's fine pattern; two dice make the grain.
        const int64_t own = colour[static_cast<size_t>(c)] + (fine.at(col, row, c) - 128) / 8;
        const auto grain = static_cast<int64_t>((noise >> (16 * c)) % 11 + (noise >> (16 * c + 8)) % 11) - 10;
        *out++ =
            static_cast<uint8_t>(std::clamp<int64_t>((own * covered + ground * (4 - covered)) / 4 + grain, 0, 255));
      }
    }
}

}  // namespace expc::dataset
