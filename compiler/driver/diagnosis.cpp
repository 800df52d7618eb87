#include "compiler/driver/diagnosis.h"

#include "compiler/driver/exit_codes.h"
#include "runtime/plan/json.h"
#include "runtime/report/diagnosis_text.h"
#include "runtime/report/document_text.h"
#include "runtime/report/records_json.h"
#include "runtime/store/store.h"

namespace expc::driver {

llvm::Expected<store::Results> storedOf(const plan::Plan& plan, const std::string& results_folder, bool null_cards) {
  if (!store::isStore(results_folder)) return store::Results{};
  std::vector<std::string> messages;
  llvm::Expected<store::Store> store = store::Store::openForReading(results_folder, messages);
  if (!store) return store.takeError();
  return store->loadLatest(plan, null_cards);
}

int showDiagnosis(const plan::Plan& plan, const DiagnosisRequest& request, const Console& console) {
  auto stored = storedOf(plan, request.results, request.null_cards);
  if (!stored) return console.error(stored.takeError());
  const auto diagnosis = simulate::diagnose(plan, simulate::modelOf(plan, *stored, request.assumptions), request.how);
  return console.print(request.json ? plan::prettyJson(report::diagnosisJson(plan, diagnosis)) + "\n"
                                    : report::documentText(report::diagnosisBlocks(plan, diagnosis), console.width(),
                                                           console.colourOut()))
             ? kSuccess
             : kError;
}

}  // namespace expc::driver
