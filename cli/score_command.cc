// crope score: log-probabilities of a sequence.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "cli/command.h"
#include "cli/generation_flags.h"
#include "cli/token_ids.h"
#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/log.h"
#include "crope/base/threads.h"
#include "crope/infer/token_losses.h"
#include "crope/model/language_model.h"

namespace crope::cli {
namespace {

struct ScoreFlags {
  std::string dir;
  std::string ids;
  std::string ids_file;
  std::string text;
  std::string weights;
  int threads = 0;
  bool json = false;
};

// Throws UsageError naming the first id that the model does not have.
std::vector<std::int64_t> checked_ids(const std::vector<std::int32_t>& ids, std::int64_t vocab_size) {
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (ids[t] < vocab_size) continue;
    throw UsageError(fmt::format("token {} of the sequence is {}, outside the vocabulary of {} (0 to {})", t, ids[t],
                                 vocab_size, vocab_size - 1));
  }
  return {ids.begin(), ids.end()};
}

// The sequence that the flags give: ids, a file of them, or text through the model's tokenizer.
std::vector<std::int64_t> read_sequence(const ScoreFlags& flags, const model::LanguageModel& model) {
  return checked_ids(flags.text.empty()
                         ? parse_token_ids(flags.ids_file.empty() ? flags.ids : read_file(flags.ids_file))
                         : model.encode(flags.text, "--text"),
                     model.model.config.vocab_size);
}

void check_length(std::size_t length, std::int64_t max_seq_len) {
  if (length == 0) throw UsageError("the sequence is empty", "give at least one id: --ids 1,2,3");
  // The last token is predicted but not fed.
  if (length > static_cast<std::size_t>(max_seq_len) + 1) {
    throw UsageError(
        fmt::format("a sequence of {} tokens: this model takes at most {} (max_seq_len + 1)", length, max_seq_len + 1));
  }
}

// -log p of each token but the first: by the forward pass of training, or with other weights as generation has it.
at::Tensor token_losses(const model::Transformer& model, const std::vector<std::int64_t>& ids) {
  if (model::weight_type(model) == ops::WeightType::fp32) return model::token_losses(model, at::tensor(ids, at::kLong));
  infer::Decoder decoder(model);
  return infer::token_losses(decoder, std::vector<std::int32_t>(ids.begin(), ids.end()));
}

void run(const ScoreFlags& flags) {
  Log log(stderr);
  const auto weights = weight_type_of(flags.weights);
  at::set_num_threads(resolve_thread_count(flags.threads));
  const model::LanguageModel model = model::load_language_model(flags.dir, log, weights);
  const std::vector<std::int64_t> ids = read_sequence(flags, model);
  check_length(ids.size(), model.window());
  const at::Tensor losses = token_losses(model.model, ids).to(at::kDouble);
  const auto* nll = losses.const_data_ptr<double>();
  double total = 0;
  Json logprobs = Json::array({nullptr});
  for (std::size_t t = 1; t < ids.size(); ++t) {
    total += nll[t - 1];
    logprobs.push_back(-nll[t - 1]);
  }
  const double perplexity = ids.size() > 1 ? std::exp(total / static_cast<double>(ids.size() - 1)) : 1.0;

  if (flags.json) {
    const Json result = {{"ids", ids}, {"logprobs", logprobs}, {"nll", total}, {"perplexity", perplexity}};
    fmt::print("{}\n", result.dump());
    return;
  }
  fmt::print("{:>8}{:>10}{:>14}\n", "position", "id", "log p");
  for (std::size_t t = 0; t < ids.size(); ++t) {
    fmt::print("{:>8}{:>10}{:>14}\n", t, ids[t], t == 0 ? std::string("-") : fmt::format("{:.6f}", -nll[t - 1]));
  }
  fmt::print("nll {:.6f}, perplexity {:.6f}\n", total, perplexity);
}

void declare_score(Flags& flags) {
  const auto values = std::make_shared<ScoreFlags>();
  flags.positional("dir", values->dir, "A model or run directory");
  flags.option("--ids", values->ids, "Token ids to score, separated by commas");
  flags.option("--ids-file", values->ids_file, "File of token ids, separated by commas or white space");
  flags.option("--text", values->text, "Text to score (needs the model's tokenizer.json)");
  flags.require_one_of({"--ids", "--ids-file", "--text"});
  flags.option("--weights", values->weights, kWeightsHelp);
  flags.option("--threads", values->threads, "Number of threads (0: all processors)");
  flags.option("--json", values->json, "Print one JSON object: ids, logprobs, nll, perplexity");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kScoreCommand = {"score", "Print the log-probability of each token of a text",
                               "crope score out/model --ids 1,2,3 --json", declare_score};

}  // namespace crope::cli
