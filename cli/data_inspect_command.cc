// crope data inspect: what a data directory holds.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/data_command.h"
#include "cli/tokenizer_path.h"
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

// The tokenizer of --tokenizer, or the data directory's own.
std::optional<text::Tokenizer> find_tokenizer(const InspectFlags& flags) {
  if (!flags.tokenizer.empty()) return text::Tokenizer::load(tokenizer_path(flags.tokenizer));
  const std::filesystem::path own = std::filesystem::path(flags.dir) / text::kTokenizerFile;
  if (std::filesystem::exists(own)) return text::Tokenizer::load(own);
  return std::nullopt;
}

data::InspectOptions options_for(const data::DataDir& dir, const std::optional<text::Tokenizer>& tokenizer) {
  if (dir.info && tokenizer && tokenizer->fingerprint() != dir.info->tokenizer_fingerprint) {
    throw Error(fmt::format("{}: the shards were made with another tokenizer (fingerprint {}, this one has {})",
                            dir.path.string(), dir.info->tokenizer_fingerprint, tokenizer->fingerprint()));
  }
  data::InspectOptions options;
  if (dir.info) {
    options.end_of_text = dir.info->end_of_text;
    options.vocab_size = dir.info->vocab_size;
  }
  if (tokenizer) {
    options.end_of_text = tokenizer->end_of_text();
    options.vocab_size = tokenizer->vocab_size();
    for (std::int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
      options.token_lengths.push_back(static_cast<std::uint32_t>(tokenizer->token_bytes(id).size()));
    }
    if (options.end_of_text) options.token_lengths[static_cast<std::size_t>(*options.end_of_text)] = 0;
  }
  return options;
}

// What is not known is null.
Json split_to_json(const data::SplitReport& report, const data::SplitCounts* counts,
                   const data::InspectOptions& options) {
  Json shards = Json::array();
  for (const data::ShardReport& shard : report.shards) {
    shards.push_back({{"name", shard.path.filename().string()},
                      {"tokens", shard.tokens},
                      {"dtype", formats::token_width_name(shard.width)},
                      {"highest_id", shard.highest_id}});
  }
  std::optional<std::uint64_t> bytes;
  if (counts != nullptr) bytes = counts->bytes;
  if (!options.token_lengths.empty()) bytes = report.bytes();
  const bool has_ratio = bytes && report.tokens() > 0;
  return {{"documents", options.end_of_text ? Json(report.documents()) : Json(nullptr)},
          {"tokens", report.tokens()},
          {"bytes", bytes ? Json(*bytes) : Json(nullptr)},
          {"bytes_per_token",
           has_ratio ? Json(static_cast<double>(*bytes) / static_cast<double>(report.tokens())) : Json(nullptr)},
          {"shards", std::move(shards)}};
}

// One line without control characters.
std::string printable(const std::string& text) {
  const std::string quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

Json samples_to_json(const std::vector<std::vector<std::int32_t>>& samples,
                     const std::optional<text::Tokenizer>& tokenizer) {
  Json json = Json::array();
  for (const std::vector<std::int32_t>& ids : samples) {
    Json sample = {{"ids", ids}};
    if (tokenizer) sample["text"] = tokenizer->decode(ids);
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
    fmt::print("\n{}\n", sample.contains("text") ? printable(sample["text"].get<std::string>()) : sample["ids"].dump());
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

  Json json = {{"directory", flags.dir},
               {"tokenizer_fingerprint", dir.info ? Json(dir.info->tokenizer_fingerprint) : Json(nullptr)},
               {"vocab_size", options.vocab_size ? Json(*options.vocab_size) : Json(nullptr)},
               {"train", split_to_json(report.train, dir.info ? &dir.info->train : nullptr, options)},
               {"val", split_to_json(report.val, dir.info ? &dir.info->val : nullptr, options)},
               {"samples", Json::array()}};
  if (flags.samples > 0 && options.end_of_text) {
    json["samples"] =
        samples_to_json(data::sample_documents(dir.train.empty() ? dir.val : dir.train, *options.end_of_text,
                                               static_cast<std::size_t>(flags.samples), kSampleTokens),
                        tokenizer);
  }
  if (flags.json) {
    // A sample may end inside a character.
    fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    print_text(json);
  }
}

}  // namespace

void declare_data_inspect(Flags& flags) {
  const auto values = std::make_shared<InspectFlags>();
  flags.positional("dir", values->dir, "A data directory, or any folder of *train*.bin and *val*.bin shards (or .npy)");
  flags.option("--tokenizer", values->tokenizer,
               "A tokenizer.json, or a folder that holds one (default: the directory's own)");
  flags.option("--samples", values->samples, "Number of documents whose beginning is printed");
  flags.option("--json", values->json, "Print one JSON object");
  flags.run([values] { run(*values); });
}

}  // namespace crope::cli
