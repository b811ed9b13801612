// crope data inspect: what a data directory holds.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/data_command.h"
#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/base/log.h"
#include "crope/data/inspect.h"
#include "crope/text/tokenizer.h"

namespace crope::cli {
namespace {

constexpr std::size_t kSampleTokens = 64;

struct InspectFlags {
  std::string dir;
  std::string tokenizer;
  int samples = 0;
  bool json = false;
};

// The one that was asked for, or the directory's own.
std::optional<text::Tokenizer> find_tokenizer(const InspectFlags& flags) {
  if (!flags.tokenizer.empty()) return text::Tokenizer::load(flags.tokenizer);
  const std::filesystem::path own = std::filesystem::path(flags.dir) / data::kTokenizerFile;
  if (std::filesystem::exists(own)) return text::Tokenizer::load(own);
  return std::nullopt;
}

data::InspectOptions options_for(const data::DataDir& dir, const std::optional<text::Tokenizer>& tokenizer) {
  if (dir.info) {
    if (tokenizer && tokenizer->fingerprint() != dir.info->tokenizer_fingerprint) {
      throw Error(fmt::format("{}: the shards were made with another tokenizer (fingerprint {}, this one has {})",
                              dir.path.string(), dir.info->tokenizer_fingerprint, tokenizer->fingerprint()));
    }
    return {.end_of_text = dir.info->end_of_text, .vocab_size = dir.info->vocab_size};
  }
  if (tokenizer) return {.end_of_text = tokenizer->end_of_text(), .vocab_size = tokenizer->vocab_size()};
  return {};
}

Json split_to_json(const data::SplitReport& report, const data::SplitCounts* counts, bool counts_documents) {
  Json shards = Json::array();
  for (const data::ShardReport& shard : report.shards) {
    shards.push_back({{"name", shard.path.filename().string()},
                      {"tokens", shard.tokens},
                      {"dtype", formats::token_width_name(shard.width)},
                      {"highest_id", shard.highest_id}});
  }
  Json json = {{"documents", counts_documents ? Json(report.documents()) : Json(nullptr)}, {"tokens", report.tokens()}};
  json["bytes"] = counts != nullptr ? Json(counts->bytes) : Json(nullptr);
  json["bytes_per_token"] = counts != nullptr && counts->tokens > 0
                                ? Json(static_cast<double>(counts->bytes) / static_cast<double>(counts->tokens))
                                : Json(nullptr);
  json["shards"] = std::move(shards);
  return json;
}

// Bytes that are no UTF-8 would not pass as JSON, and control characters upset a terminal.
std::string printable(const std::string& text) {
  const std::string quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

Json samples_to_json(const std::vector<std::vector<std::int32_t>>& samples,
                     const std::optional<text::Tokenizer>& tokenizer) {
  Json json = Json::array();
  for (const std::vector<std::int32_t>& ids : samples) {
    Json sample = {{"ids", ids}};
    if (tokenizer) sample["text"] = printable(tokenizer->decode(ids));
    json.push_back(std::move(sample));
  }
  return json;
}

void print_split(const char* name, const Json& split) {
  const auto cell = [&](const char* key) { return split[key].is_null() ? std::string("?") : split[key].dump(); };
  const Json& ratio = split["bytes_per_token"];
  fmt::print("{:<7}{:>12}{:>15}{:>15}{:>8}{:>14}\n", name, cell("documents"), cell("tokens"), cell("bytes"),
             split["shards"].size(), ratio.is_null() ? std::string("?") : fmt::format("{:.3f}", ratio.get<double>()));
}

void print_text(const Json& report) {
  fmt::print("{:<7}{:>12}{:>15}{:>15}{:>8}{:>14}\n", "", "documents", "tokens", "bytes", "shards", "bytes/token");
  print_split("train", report["train"]);
  print_split("val", report["val"]);
  for (const Json& sample : report["samples"]) {
    fmt::print("\n{}\n", sample.contains("text") ? sample["text"].get<std::string>() : sample["ids"].dump());
  }
}

void run(const InspectFlags& flags) {
  Log log(stderr);
  const InterruptScope interrupts;
  if (flags.samples < 0) throw UsageError(fmt::format("--samples {}: expected 0 or more", flags.samples));
  const data::DataDir dir = data::open_data_dir(flags.dir);
  const std::optional<text::Tokenizer> tokenizer = find_tokenizer(flags);
  const data::InspectOptions options = options_for(dir, tokenizer);
  const data::DirReport report = data::inspect(dir, options, log);
  if (!options.vocab_size)
    log.warn("no dataset.json and no tokenizer: ids are not checked, documents not counted; give --tokenizer");

  const bool counts_documents = options.end_of_text.has_value();
  Json json = {{"directory", flags.dir},
               {"tokenizer_fingerprint", dir.info ? Json(dir.info->tokenizer_fingerprint) : Json(nullptr)},
               {"vocab_size", options.vocab_size ? Json(*options.vocab_size) : Json(nullptr)},
               {"train", split_to_json(report.train, dir.info ? &dir.info->train : nullptr, counts_documents)},
               {"val", split_to_json(report.val, dir.info ? &dir.info->val : nullptr, counts_documents)},
               {"samples", Json::array()}};
  if (flags.samples > 0 && options.end_of_text) {
    json["samples"] =
        samples_to_json(data::sample_documents(dir.train.empty() ? dir.val : dir.train, *options.end_of_text,
                                               static_cast<std::size_t>(flags.samples), kSampleTokens),
                        tokenizer);
  }
  if (flags.json) {
    fmt::print("{}\n", json.dump());
  } else {
    print_text(json);
  }
}

}  // namespace

void declare_data_inspect(Flags& flags) {
  const auto values = std::make_shared<InspectFlags>();
  flags.positional("dir", values->dir, "A data directory, or any folder of *train*.bin and *val*.bin shards");
  flags.option("--tokenizer", values->tokenizer,
               "A tokenizer.json, or a folder that holds one (default: the directory's own)");
  flags.option("--samples", values->samples, "Show the beginnings of this many documents");
  flags.option("--json", values->json, "Print one JSON object");
  flags.run([values] { run(*values); });
}

}  // namespace crope::cli
