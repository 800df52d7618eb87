#pragma once

#include <string_view>
#include <vector>

#include "compiler/parse/cst.h"

namespace expc::lsp {

/// A word of the language, for hovers and proposals.
struct Word {
  std::string_view text;
  std::string_view doc;
  std::string_view snippet;  // what is inserted, with `$1` and `${1:name}` to fill in; "" for the text itself
};

const std::vector<Word>& statementWords();  // `factor`, `criterion`, …: heads of statements
const std::vector<Word>& clauseWords();     // `baseline`, `because`, …
const std::vector<Word>& functionWords();   // `speedup`, …
const std::vector<Word>& typeWords();       // `int`, `Time`, …
const std::vector<Word>& traitWords();      // `lower`, `timed`, …
const std::vector<Word>& settingWords();    // of a design block
const std::vector<Word>& kindWords();       // `timed`, … as blocks of a design
const std::vector<Word>& systemWords();     // `gpus`, `gpu.memory`, …: after `system.`
const std::vector<Word>& sourceWords();     // `regex`, `json`, `csv`

/// The word in any of the tables; null if there is none.
const Word* findWord(std::string_view text);
const Word* findWord(const std::vector<Word>& words, std::string_view text);

/// Heads of statements that may stand in a block.
std::vector<const Word*> headsIn(parse::Rule block);

}  // namespace expc::lsp
