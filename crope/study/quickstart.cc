#include "crope/study/quickstart.h"

#include <fmt/format.h>

#include "crope/base/interrupt.h"
#include "crope/infer/generation.h"
#include "crope/model/language_model.h"
#include "crope/study/run_report.h"

namespace crope::study {
namespace {

constexpr const char* kPrompt = "One morning";
constexpr std::int64_t kSampleTokens = 60;

// How a trained model goes on with a few words, greedily.
Sample make_sample(const Outcome& outcome, Log& log) {
  const model::LanguageModel model = model::load_language_model(outcome.run, log);
  std::vector<std::int32_t> prompt = model.encode(kPrompt, "the sample's prompt");
  if (model.begin_token) prompt.insert(prompt.begin(), *model.begin_token);
  Sample sample{.variant = outcome.variant, .prompt = kPrompt, .text = {}};
  const infer::GenerationRequest request{
      .prompt = prompt, .max_tokens = kSampleTokens, .sampling = {}, .stop = {}, .end_tokens = model.end_tokens};
  infer::generate(model.model, model.tokenizer_or_null(), std::span(&request, 1), {},
                  {.on_done = [&](std::size_t, const infer::Generation& done) { sample.text = done.text; }});
  return sample;
}

}  // namespace

std::optional<QuickstartResult> quickstart(const QuickstartOptions& options, Log& log) {
  const SmallWorld world = make_small_world(options.out, options.world, log);
  QuickstartResult result;
  std::vector<std::filesystem::path> runs;
  for (const std::string& variant : options.variants) {
    throw_if_interrupted();
    log.info(fmt::format("{}: training and evaluation", variant));
    Experiment experiment{.job = {.given = options.recipe,
                                  .run = options.out / variant,
                                  .data = world.data,
                                  .init_from = {},
                                  .program = options.program},
                          .benchmarks = world.benchmarks,
                          .limit = options.limit};
    experiment.job.given["variant"] = variant;
    const auto outcome = run_experiment(experiment, log);
    if (!outcome) return {};
    result.outcomes.push_back(*outcome);
    result.samples.push_back(make_sample(*outcome, log));
    runs.push_back(outcome->run);
  }
  log.info("drawing the report");
  result.page = write_report(runs, options.out / "report", {.title = "A small world, three kinds of attention"}, log);
  return result;
}

}  // namespace crope::study
