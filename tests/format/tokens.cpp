// Prints the tokens of .exp files as JSON lines, for tests that compare another reader of the language with ours.
// usage: format_tokens --words | --table | FILE…

#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>

#include <fstream>
#include <ios>
#include <map>
#include <sstream>

#include "compiler/parse/antlr_bridge.h"
#include "compiler/parse/parse.h"
#include "compiler/parse/words.h"
#include "runtime/base/format.h"

using namespace expc;

namespace {

constexpr const char* kTokens[] = {"EndOfFile",
#define X(name, token, text) #name,
                                   EXPC_PARSE_TOKENS(X)
#undef X
};

/// Whether a word stands in the place of a name, by the byte it begins at.
std::map<uint32_t, bool> names(const source::SourceManager& sources, source::FileId file) {
  diag::Collector said;
  diag::Emitter emitter(said);
  parse::Reporter reporter(sources, emitter, file);
  const parse::Tree tree = parse::parseTree(sources, file, parse::Rule::File, reporter);
  std::map<uint32_t, bool> out;
  for (const parse::Node& node : tree.nodes)
    for (uint32_t child = node.child; child != parse::kNone; child = tree.nodes[child].next)
      if (tree.nodes[child].is_token)
        out[tree.nodes[child].begin] = node.rule == parse::Rule::Word || node.rule == parse::Rule::AnyWord;
  return out;
}

void printTokens(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  source::SourceManager sources;
  diag::Collector said;
  diag::Emitter emitter(said);
  const auto file = parse::load(sources, path, text.str(), emitter);
  if (!file) return;
  const std::map<uint32_t, bool> is_name = names(sources, *file);
  for (const parse::LexedToken& token : parse::tokens(sources, *file)) {
    const auto name = is_name.find(token.range.begin);
    const llvm::json::Object line{{"file", path},
                                  {"begin", token.range.begin},
                                  {"end", token.range.end},
                                  {"token", kTokens[size_t(token.kind)]},
                                  {"reserved", parse::isReserved(token.kind)},
                                  {"name", name != is_name.end() && name->second}};
    fmt::print("{}\n", llvm::formatv("{0}", llvm::json::Value(llvm::json::Object(line))).str());
  }
}

/// Every token that is always written in the same way.
void printWords() {
#define X(name, token, text)                                                                                           \
  if (std::string_view(text) != "")                                                                                    \
    fmt::print("{}\n",                                                                                                 \
               llvm::formatv(                                                                                          \
                   "{0}", llvm::json::Value(llvm::json::Object{                                                        \
                              {"token", #name}, {"text", text}, {"reserved", parse::isReserved(parse::Token::name)}})) \
                   .str());
  EXPC_PARSE_TOKENS(X)
#undef X
}

/// The table of the language's words, and its units as one role more.
void printTable() {
  constexpr const char* kRoles[] = {"Head",     "Clause",  "Operator", "Value",   "Comparison", "Choice",
                                    "Function", "Type",    "Trait",    "Kind",    "Setting",    "Source",
                                    "Taken",    "Scaling", "Axis",     "Property"};
  const auto print = [](std::string_view role, std::string_view text) {
    fmt::print("{}\n", llvm::formatv("{0}", llvm::json::Value(llvm::json::Object{{"role", std::string(role)},
                                                                                 {"text", std::string(text)}}))
                           .str());
  };
  for (size_t role = 0; role < std::size(kRoles); ++role)
    for (const std::string& text : words::texts(static_cast<words::Role>(role))) print(kRoles[role], text);
  for (const std::string& text : words::unitNames()) print("Unit", text);
}

}  // namespace

int main(int argc, char** argv) {
  for (int at = 1; at < argc; ++at)
    if (std::string_view(argv[at]) == "--words")
      printWords();
    else if (std::string_view(argv[at]) == "--table")
      printTable();
    else
      printTokens(argv[at]);
  return 0;
}
