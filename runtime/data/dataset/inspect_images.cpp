// Decodes every image once, on all cores, and compares them by digests of their pixels.

#include "runtime/data/dataset/inspect_images.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>
#include <utility>

#include "runtime/base/entry.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/data/images/alike.h"
#include "runtime/data/images/orientation.h"

namespace expc::dataset {
namespace {

namespace fs = std::filesystem;
using Kind = data::Source::Kind;

/// The facts about one image.
struct ImageFacts {
  std::string damage;  // why it cannot be decoded; "" if it can
  uint64_t digest = 0;
  int64_t pixels = 0;
  int orientation = 1;
};

/// The largest class may have so many times the images of the smallest.
constexpr int64_t kBalanced = 10;

/// The work of inspectImages().
class ImagesInspection {
 public:
  explicit ImagesInspection(const data::ImageSets& sets)
      : sets_(sets), train_(sets.train->count()), facts_(sets.count()) {}

  /// Decodes everything; the error is one of `tick`.
  Error read(unsigned threads, const base::Tick& tick);
  /// Adds the problems of the images.
  void judge(ImagesReport& report) const;

 private:
  std::string nameOf(int64_t item) const {
    const auto [set, index] = sets_.at(item);
    return set->nameOf(index);
  }
  int64_t label(int64_t item) const {
    const auto [set, index] = sets_.at(item);
    return set->label(index);
  }
  /// Adds the problems of images that are equal.
  void judgeCopies(std::vector<Problem>& problems) const;

  const data::ImageSets& sets_;
  const int64_t train_;
  std::vector<ImageFacts> facts_;  // of the training set, then of the test set
};

Error ImagesInspection::read(unsigned threads, const base::Tick& tick) {
  const auto work = [&](int64_t item) -> Error {
    thread_local std::vector<uint8_t> decoded;
    ImageFacts& facts = facts_[item];
    const auto [set, index] = sets_.at(item);
    if (const std::string file = set->file(index); !file.empty())
      if (const auto mapped = expectedToOptional(files::map(file))) {
        const StringRef bytes = (*mapped)->getBuffer();
        facts.orientation = data::orientationOf({bytes.bytes_begin(), bytes.size()});
      }
    auto pixels = set->read(index, decoded);
    if (!pixels) {
      facts.damage = toString(pixels.takeError());
      return Error::success();
    }
    facts.digest = data::digestOf(*pixels);
    facts.pixels = pixels->rows * pixels->cols;
    return Error::success();
  };
  return base::forEach(std::ssize(facts_), threads, work, tick);
}

void ImagesInspection::judgeCopies(std::vector<Problem>& problems) const {
  Problem labels{Severity::Warning, ""},
      leaks{Severity::Warning, "a test image that is also a training image: accuracy there measures memorisation"},
      copies{Severity::Warning, "repeats an earlier image of its part"};
  std::unordered_map<uint64_t, int64_t> known, known_test;  // the first image of each part with these pixels
  std::string other;
  for (int64_t item = 0; item < std::ssize(facts_); ++item) {
    if (!facts_[item].damage.empty()) continue;
    const bool test = item >= train_;
    const auto [first, fresh] = (test ? known_test : known).try_emplace(facts_[item].digest, item);
    const int64_t earlier = fresh ? valueIn(known, facts_[item].digest).value_or(item) : first->second;
    if (earlier == item) continue;
    if (label(earlier) != label(item)) {
      if (other.empty()) other = nameOf(earlier);
      labels.images.push_back(nameOf(item));
    }
    if (test && known.contains(facts_[item].digest)) leaks.images.push_back(nameOf(item));
    if (!fresh) copies.images.push_back(nameOf(item));
  }
  labels.text = fmt::format("has another label than its copy (the first one {}): no model can get both right", other);
  for (Problem* problem : {&labels, &leaks, &copies})
    if (!problem->images.empty()) problems.push_back(std::move(*problem));
}

void ImagesInspection::judge(ImagesReport& report) const {
  for (const ImageFacts& facts : facts_) {
    if (facts.damage.empty())
      report.pixels.push_back(facts.pixels);
    else
      report.problems.push_back({Severity::Error, facts.damage});
  }
  judgeCopies(report.problems);
  Problem turned{Severity::Warning,
                 "its EXIF header turns or mirrors it, which decoding ignores: apply it (for example with `magick "
                 "mogrify -auto-orient FILE`)"};
  for (int64_t item = 0; item < std::ssize(facts_); ++item)
    if (facts_[item].orientation != 1) turned.images.push_back(nameOf(item));
  report.turned = std::ssize(turned.images);
  if (report.turned > 0) report.problems.push_back(std::move(turned));
}

/// Adds a problem if classes differ much in their numbers.
void judgeBalance(const Info& info, std::vector<Problem>& problems) {
  const auto [least, most] = std::ranges::minmax_element(info.classes, {}, &ClassCount::train);
  if (least == info.classes.end() || most->train <= kBalanced * least->train) return;
  problems.push_back({Severity::Warning,
                      fmt::format("class {} has {} training images, class {} only {}: accuracy hides errors in small "
                                  "classes",
                                  most->name, most->train, least->name, least->train)});
}

/// Adds a note on files beside the images, which nothing reads.
void judgeOthers(const std::string& folder, std::vector<Problem>& problems) {
  Problem others{Severity::Note, "no .jpg, .jpeg or .png file, so it is not read"};
  for (const char* part : {"train", "test"}) {
    std::error_code failed, unknown;
    for (fs::recursive_directory_iterator at(fs::path(folder) / part, failed), end; !failed && at != end;
         at.increment(failed)) {
      const std::string ending = StringRef(at->path().extension().string()).lower();
      if (at->is_directory(unknown) || ending == ".jpg" || ending == ".jpeg" || ending == ".png") continue;
      others.images.push_back(at->path().string());
    }
  }
  std::ranges::sort(others.images);
  if (!others.images.empty()) problems.push_back(std::move(others));
}

}  // namespace

Expected<ImagesReport> inspectImages(const data::Source& source, unsigned threads, const base::Tick& tick) {
  ImagesReport report;
  auto sets = data::open(source);
  auto info = sets ? inspect(source, threads) : Expected<Info>(sets.takeError());
  if (!info) {
    report.problems.push_back({Severity::Error, toString(info.takeError())});
  } else {
    ImagesInspection inspection(*sets);
    TRY(inspection.read(threads, tick));
    inspection.judge(report);
    judgeBalance(*info, report.problems);
    report.info = std::move(*info);
  }
  if (source.kind == Kind::Folder) judgeOthers(source.path, report.problems);
  sortWorstFirst(report.problems);
  return report;
}

}  // namespace expc::dataset
