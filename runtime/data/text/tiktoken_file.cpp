// Reads a vocabulary in tiktoken's form, as Llama 3's tokenizer.model has it: a line for each token with its bytes in
// base64, a space and its rank. Ranks are ids, and the order of merging. Special tokens are not in the file; Llama 3's
// follow behind the vocabulary.

#include <llvm/Support/Base64.h>

#include <tuple>

#include "runtime/base/format.h"
#include "runtime/data/text/tokenizer.h"

namespace expc::text {
namespace {

/// Reads one line. Returns the fault, or "".
std::string readLine(StringRef line, std::string& bytes, size_t& rank) {
  const auto [base64, digits] = line.rsplit(' ');
  if (base64.empty() || digits.empty()) return "expected base64, a space and a rank";
  if (digits.getAsInteger(10, rank)) return "its rank is not a whole number";
  // Checked before decoding, which would allocate.
  if (base64.size() > kLongestToken * 4 / 3) return fmt::format("a token of more than {} bytes", kLongestToken);
  std::vector<char> decoded;
  if (llvm::errorToBool(llvm::decodeBase64(base64, decoded))) return "the text before the space is not base64";
  if (decoded.empty()) return "a token without bytes";
  bytes.assign(decoded.begin(), decoded.end());
  return "";
}

}  // namespace

Expected<Tokenizer> Tokenizer::fromTiktoken(StringRef bytes, const std::string& name) {
  const auto wrong = [&](const std::string& what) {
    return failure("{}: {}; a tokenizer in tiktoken's form has a line for each token: base64, a space, its rank", name,
                   what);
  };
  if (bytes.trim().empty()) return wrong("it is empty");
  std::vector<std::string> tokens;
  // The line that gave each rank, for messages about duplicates; 0 for a rank without one.
  std::vector<size_t> line_of;
  size_t number = 0;
  for (StringRef rest = bytes; !rest.empty();) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    ++number;
    line.consume_back("\r");
    if (line.empty()) continue;
    std::string token;
    size_t rank = 0;
    if (const auto problem = readLine(line, token, rank); !problem.empty())
      return wrong(fmt::format("line {}: {}", number, problem));
    if (rank >= kMostTokens) return wrong(fmt::format("line {}: rank {} is too high", number, rank));
    // Ranks that are far apart occur only in a file that is no vocabulary; no memory is taken for them.
    if (rank > tokens.size() * 2 + 1024)
      return wrong(fmt::format("line {}: rank {} after {} tokens; ranks count up from 0", number, rank, tokens.size()));
    if (rank >= tokens.size()) {
      tokens.resize(rank + 1);
      line_of.resize(rank + 1);
    }
    if (line_of[rank] != 0) return wrong(fmt::format("lines {} and {} both have rank {}", line_of[rank], number, rank));
    tokens[rank] = std::move(token);
    line_of[rank] = number;
  }
  std::vector<StringRef> texts;
  for (size_t rank = 0; rank < tokens.size(); ++rank) {
    if (line_of[rank] == 0)
      return wrong(
          fmt::format("no line has rank {}, though one has {}; the file may be truncated", rank, tokens.size() - 1));
    texts.emplace_back(tokens[rank]);
  }
  auto vocabulary = Vocabulary::make(texts);
  if (!vocabulary) return wrong(toString(vocabulary.takeError()));
  const Token first = vocabulary->size();
  Tokenizer result(name, std::move(*vocabulary), SpecialTokens::llama3(first));
  result.rows_ = first + 256;  // Llama 3's models have 256 rows for special tokens
  return result;
}

}  // namespace expc::text
