#include "nullgpu/nccl/group.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "nullgpu/nccl/failure.h"

namespace nullgpu::nccl {
namespace {

struct Issue {
  std::shared_ptr<Communicator> communicator;
  Call call;
  cudaStream_t stream;
};

struct Group {
  unsigned depth = 0;
  ncclResult_t answer = ncclSuccess;  // of the first call that failed
  std::vector<std::shared_ptr<Communicator>> meeting;
  std::vector<Issue> issues;
};
thread_local Group group;

void meetNow(Communicator& communicator) {
  if (communicator.blocking()) communicator.meet();
}

/// All messages of one communicator at once: a rank that sends and receives must not wait for the one before the other.
void issueMessages(const std::vector<Issue>& issues, const std::shared_ptr<Communicator>& communicator) {
  std::vector<Call> calls;
  cudaStream_t stream = nullptr;
  for (const Issue& each : issues) {
    if (each.communicator != communicator || each.call.what.kind != Kind::Message) continue;
    if (!calls.empty() && each.stream != stream)
      throw Failure(ncclInvalidUsage, "the null GPU's NCCL takes all messages of a group from one stream");
    stream = each.stream;
    calls.push_back(each.call);
  }
  communicator->issue(std::move(calls), stream);
}

}  // namespace

void beginGroup() { ++group.depth; }

void endGroup() {
  if (group.depth == 0) throw Failure(ncclInvalidUsage, "ncclGroupEnd without an ncclGroupStart");
  if (--group.depth > 0) return;
  const Group ended = std::exchange(group, {});
  if (ended.answer != ncclSuccess) throw Failure(ended.answer, lastError());
  for (const auto& communicator : ended.meeting) meetNow(*communicator);
  std::vector<std::shared_ptr<Communicator>> with_messages;
  for (const Issue& each : ended.issues) {
    if (each.call.what.kind != Kind::Message) {
      each.communicator->issue({each.call}, each.stream);
    } else if (std::find(with_messages.begin(), with_messages.end(), each.communicator) == with_messages.end()) {
      with_messages.push_back(each.communicator);
    }
  }
  for (const auto& communicator : with_messages) issueMessages(ended.issues, communicator);
}

void noteInGroup(ncclResult_t answer) {
  if (group.depth > 0 && group.answer == ncclSuccess) group.answer = answer;
}

void meet(const std::shared_ptr<Communicator>& communicator) {
  if (group.depth > 0) {
    group.meeting.push_back(communicator);
  } else {
    meetNow(*communicator);
  }
}

void issue(const std::shared_ptr<Communicator>& communicator, const Call& call, cudaStream_t stream) {
  if (group.depth > 0) {
    group.issues.push_back({communicator, call, stream});
  } else {
    communicator->issue({call}, stream);
  }
}

}  // namespace nullgpu::nccl
