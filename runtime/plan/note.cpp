#include "runtime/plan/note.h"

#include "runtime/base/json_record.h"

namespace expc::plan {
namespace {

using base::JsonPath;
using json::Array;
using json::Value;

constexpr base::Word<Note::Code> kCodes[] = {{"crowded", Note::Crowded},
                                             {"limit_unknown", Note::LimitUnknown},
                                             {"diverged", Note::Diverged},
                                             {"went_on", Note::WentOn},
                                             {"any_place", Note::AnyPlace},
                                             {"left_behind", Note::LeftBehind},
                                             {"starter_peak", Note::StarterPeak},
                                             {"read_before", Note::ReadBefore},
                                             {"few_values", Note::FewValues},
                                             {"made_up", Note::MadeUp},
                                             {"leaked", Note::Leaked},
                                             {"nearly_leaked", Note::NearlyLeaked},
                                             {"held_out", Note::HeldOut},
                                             {"truncated", Note::Truncated},
                                             {"unlearnt", Note::Unlearnt},
                                             {"equal_pairs", Note::EqualPairs}};

}  // namespace

static void describe(JsonRecord& io, Note& note) {
  io.word("code", note.code, kCodes);
  io.optional("name", note.name);
  if (io.has("number", note.number != 0)) io.measured("number", note.number);
  io.optional("said", note.said);
  if (io.has("of", note.of != 0)) io.measured("of", note.of);
}

Array toJson(const std::vector<Note>& notes) {
  Array array;
  for (const Note& note : notes) {
    if (note.code == Note::Said)
      array.push_back(jsonText(note.said));
    else
      array.push_back(base::written(note));
  }
  return array;
}

void describeNotes(JsonRecord& io, JsonRecord::Key key, std::vector<Note>& notes) {
  if (!io.reads()) {
    io.out()[key] = toJson(notes);
    return;
  }
  io.each(key, [&](const Value& value, const JsonPath& at) {
    Note note;
    if (const auto said = value.getAsString())
      note.said = said->str();
    else
      io.readOne(value, at, note, base::kDescribed);
    notes.push_back(std::move(note));
  });
}

}  // namespace expc::plan
