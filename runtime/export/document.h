#pragma once

// What a command says, put together once: for a terminal, for a pull request and for programs.

#include <llvm/Support/JSON.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/report/document.h"

namespace expc::exports {

/// A paragraph: "PASS → FAIL quick: forall …".
struct Line {
  std::string of, text;         // what it speaks of, if anything, and what is said of that
  unsigned depth = 0;           // below a line that goes before
  std::string word = "";        // what it comes to
  std::string_view style = "";  // of the word: a verdict's (analysis/meaning.h), "" for none
};

struct Block {
  std::string name;       // its title, and its member of the JSON
  std::string rest = "";  // beside the title
  std::vector<Line> lines = {};
  report::Table table = {};  // below the lines
  llvm::json::Array json = {};
  bool aside = false;  // in Markdown it is folded
};

struct Document {
  /// Of sides of one study; `outcome` is what all of it comes to.
  Document(const plan::Plan& plan, const std::vector<std::string>& sides, analysis::Verdict outcome);

  std::string title;  // to be finished
  analysis::Verdict outcome;
  int exit_code;
  std::vector<Block> blocks = {};
  llvm::json::Object json;  // what stands beside the members of the blocks
};

std::string text(const Document& document, unsigned width, bool colour);
std::string markdown(const Document& document);
llvm::json::Value json(Document document);

}  // namespace expc::exports
