// Tokenises documents for tests/bench/tokenizer.py, which asks on standard input, a line each:
//   time DOCUMENTS      encodes all of them once; answers with seconds and tokens
//   ids DOCUMENTS OUT   writes their tokens: for each document a count and the tokens, 32 bits each
// A file of documents has 32 bits of length (little-endian) and the bytes of each. The first answer is the seconds that
// reading the vocabulary took.

#include <llvm/Support/Endian.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>

#include "runtime/base/format.h"
#include "runtime/data/text/tokenizer.h"

namespace {

using expc::text::Token;
using expc::text::Tokenizer;

/// Processor time of this process, which has one thread.
double now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

template <typename Result>
Result orEnd(llvm::Expected<Result> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}\n", llvm::toString(result.takeError()));
  std::exit(1);
}

std::vector<std::string> readDocuments(const std::string& path) {
  auto buffer = orEnd(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(path, false, false)));
  std::vector<std::string> documents;
  for (llvm::StringRef rest = buffer->getBuffer(); rest.size() >= 4;) {
    const uint32_t size = llvm::support::endian::read32le(rest.data());
    documents.push_back(rest.substr(4, size).str());
    rest = rest.drop_front(4 + size);
  }
  return documents;
}

void encodeAll(const Tokenizer& tokenizer, const std::vector<std::string>& documents,
               llvm::function_ref<void(const std::vector<Token>&)> use) {
  for (const std::string& document : documents) {
    std::vector<Token> tokens;
    if (auto error = tokenizer.encode(document, tokens)) {
      fmt::print(stderr, "{}\n", llvm::toString(std::move(error)));
      std::exit(1);
    }
    use(tokens);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: expc-tokenizer-bench VOCABULARY\n");
    return 2;
  }
  const double begin = now();
  const Tokenizer tokenizer = orEnd(Tokenizer::open(argv[1]));
  fmt::print("{}\n", now() - begin);
  std::fflush(stdout);
  std::string known_path;
  std::vector<std::string> documents;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb, path, out;
    words >> verb >> path >> out;
    if (path != known_path) documents = readDocuments(known_path = path);
    if (verb == "time") {
      size_t count = 0;
      const double start = now();
      encodeAll(tokenizer, documents, [&](const std::vector<Token>& tokens) { count += tokens.size(); });
      fmt::print("{} {}\n", now() - start, count);
    } else {
      std::ofstream file(out, std::ios::binary);
      encodeAll(tokenizer, documents, [&](const std::vector<Token>& tokens) {
        const auto count = uint32_t(tokens.size());
        file.write(reinterpret_cast<const char*>(&count), sizeof count);
        file.write(reinterpret_cast<const char*>(tokens.data()),
                   static_cast<std::streamsize>(tokens.size() * sizeof(Token)));
      });
      file.close();
      fmt::print("done\n");
    }
    std::fflush(stdout);
  }
}
