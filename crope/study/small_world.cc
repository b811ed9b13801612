#include "crope/study/small_world.h"

#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/base/json.h"
#include "crope/data/prepare.h"
#include "crope/data/tokenizer_training.h"
#include "crope/world/synthetic_world.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

// A world that is there must be the one asked for.
void check_world(const fs::path& folder, const SmallWorldOptions& options) {
  const Json found = read_json(folder / "world.json");
  const auto count = [&](const char* key) { return found.value(key, std::int64_t{-1}); };
  const bool is_same = count("version") == world::kWorldVersion && count("documents") == options.documents &&
                       count("hellaswag_items") == options.benchmarks.hellaswag_items &&
                       count("mmlu_test_items") == options.benchmarks.mmlu_items &&
                       count("gsm8k_test_items") == options.benchmarks.gsm8k_items;
  if (is_same) return;
  throw Error(fmt::format("{}: a world of other options, or of another version of this program", folder.string()),
              "give another folder, or remove this one");
}

}  // namespace

SmallWorld make_small_world(const fs::path& folder, const SmallWorldOptions& options, Log& log) {
  const SmallWorld made{.world = folder / "world",
                        .benchmarks = folder / "world" / "eval",
                        .tokenizer = folder / "tokenizer",
                        .data = folder / "data"};
  if (fs::exists(made.world)) {
    check_world(made.world, options);
  } else {
    log.info(fmt::format("making a small world of {} documents", options.documents));
    world::write_synthetic_world({.documents = options.documents, .benchmarks = options.benchmarks}, made.world, log);
  }
  const std::string corpus = (made.world / "train.jsonl").string();
  if (!fs::exists(made.tokenizer)) {
    log.info(fmt::format("training a tokenizer of {} tokens", options.vocab_size));
    data::train_tokenizer({.sources = {corpus}, .vocab_size = options.vocab_size}, made.tokenizer, log);
  }
  data::prepare({.sources = {corpus}, .source = {}, .tokenizer = made.tokenizer, .out = made.data}, log);
  return made;
}

}  // namespace crope::study
