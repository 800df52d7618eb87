#include "runtime/worker/profile/over_ranks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

namespace expc::profile {

std::vector<std::string> gatherTexts(comm::Communicator& communicator, const std::string& text) {
  const double longest = communicator.allReduce(static_cast<double>(text.size()), comm::Reduction::Max);
  auto bytes = at::full({static_cast<int64_t>(longest)}, ' ', at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), text.data(), text.size());
  std::vector<std::string> texts;
  for (const auto& one : communicator.allGather(bytes)) {
    const std::string_view padded(static_cast<const char*>(one.const_data_ptr()), static_cast<size_t>(one.numel()));
    texts.emplace_back(padded.substr(0, padded.find_last_not_of(' ') + 1));
  }
  return texts;
}

void reduce(comm::Communicator& communicator, const std::vector<Measure>& measures, llvm::json::Object& metrics) {
  std::vector<double> lacking, values;
  for (const Measure& measure : measures) {
    lacking.push_back(measure.value ? 0 : 1);
    values.push_back(measure.value.value_or(0));
  }
  lacking = communicator.allReduce(std::move(lacking), comm::Reduction::Max);
  const auto largest = communicator.allReduce(values, comm::Reduction::Max);
  const auto sum = communicator.allReduce(values, comm::Reduction::Sum);
  for (size_t i = 0; i < measures.size(); ++i) {
    llvm::json::Value& metric = metrics[measures[i].name];
    if (lacking[i] != 0)
      metric = nullptr;
    else if (measures[i].over == Over::Max)
      metric = largest[i];
    else
      metric = measures[i].over == Over::Sum ? sum[i] : sum[i] / communicator.worldSize();
  }
}

Gathered gather(comm::Communicator& communicator, const Amounts& breakdown, const std::vector<std::string>& notes) {
  std::vector<Amounts> ranks;
  for (const std::string& text : gatherTexts(communicator, toText(breakdown))) ranks.push_back(fromText(text));
  Gathered gathered{meanOf(ranks), {}};
  std::string lines;
  for (const std::string& note : notes) lines += note + "\n";
  for (const std::string& text : gatherTexts(communicator, lines + ".")) {
    for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      const std::string note = text.substr(at, end - at);
      if (std::find(gathered.notes.begin(), gathered.notes.end(), note) == gathered.notes.end())
        gathered.notes.push_back(note);
    }
  }
  return gathered;
}

}  // namespace expc::profile
