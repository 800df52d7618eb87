#pragma once

#include "runtime/worker/workload/workload.h"

namespace expc::workload::llm {

/// llm.finetune (stdlib/llm.exp, docs/semantics.md §2 to §8).
Workload finetune();

}  // namespace expc::workload::llm
