// How much of the tokenizer's speed is left when documents are read, encoded and written: the same text encoded from
// memory, and prepared from a JSON lines file. CROPE_TEST_DATA names the folder with corpus/ and tokenizer/.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include "crope/base/log.h"
#include "crope/data/document_source.h"
#include "crope/data/prepare.h"
#include "crope/text/tokenizer.h"

namespace {

namespace fs = std::filesystem;
using namespace crope;

fs::path test_data() {
  const char* folder = std::getenv("CROPE_TEST_DATA");
  return folder == nullptr ? fs::path() : fs::path(folder);
}

void encode(benchmark::State& state) {
  if (test_data().empty()) return state.SkipWithError("set CROPE_TEST_DATA");
  const std::vector<std::string> sources = {(test_data() / "corpus/openstax.jsonl").string()};
  data::DocumentSource source(data::find_sources(sources, data::SourceFormat::automatic), {});
  std::vector<std::string> texts;
  std::int64_t bytes = 0;
  for (data::Piece piece; source.next(piece); texts.push_back(std::move(piece.text))) {
    bytes += static_cast<std::int64_t>(piece.text.size());
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  for (auto _ : state) {
    // Loaded anew, as prepare() does: a tokenizer learns words while it works.
    const text::Tokenizer tokenizer = text::Tokenizer::load(test_data() / "tokenizer/gpt2");
    benchmark::DoNotOptimize(tokenizer.encode_batch(views, static_cast<int>(state.range(0))));
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

void prepare(benchmark::State& state) {
  if (test_data().empty()) return state.SkipWithError("set CROPE_TEST_DATA");
  const fs::path out = fs::temp_directory_path() / "crope_prepare_bench";
  Log log(nullptr);
  std::int64_t bytes = 0;
  for (auto _ : state) {
    fs::remove_all(out);
    const data::PrepareResult result = data::prepare({.sources = {(test_data() / "corpus/openstax.jsonl").string()},
                                                      .source = {},
                                                      .tokenizer = test_data() / "tokenizer/gpt2",
                                                      .out = out,
                                                      .threads = static_cast<int>(state.range(0))},
                                                     log);
    bytes += static_cast<std::int64_t>(result.counts.bytes);
  }
  fs::remove_all(out);
  state.SetBytesProcessed(bytes);
}

}  // namespace

BENCHMARK(encode)->Arg(1)->Arg(2)->ArgName("threads")->UseRealTime()->MeasureProcessCPUTime()->Unit(
    benchmark::kMillisecond);
BENCHMARK(prepare)->Arg(1)->Arg(2)->ArgName("threads")->UseRealTime()->MeasureProcessCPUTime()->Unit(
    benchmark::kMillisecond);
BENCHMARK_MAIN();
