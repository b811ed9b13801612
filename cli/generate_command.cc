// crope generate: text that continues a prompt.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>

#include "cli/command.h"
#include "cli/generation_flags.h"
#include "cli/token_ids.h"
#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/interrupt.h"
#include "crope/base/json.h"
#include "crope/base/progress.h"
#include "crope/infer/sampled_documents.h"

namespace crope::cli {
namespace {

struct GenerateFlags {
  GenerationFlags generation;
  std::string prompt;
  std::string prompt_file;
  std::string prompt_ids;
  std::int64_t n = 1;
  std::int64_t documents = 0;
  std::string out;
  bool prompt_given = false;
  bool prompt_ids_given = false;
  bool temperature_given = false;
  bool max_tokens_given = false;
  bool echo = false;
  bool json = false;
};

struct Prompt {
  std::string text;  // "" where ids were given
  std::vector<std::int32_t> ids;
};

std::string read_stdin() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

Prompt read_prompt(const GenerateFlags& flags, const model::LanguageModel& model) {
  Prompt prompt;
  if (flags.prompt_ids_given) {
    prompt.ids = parse_token_ids(flags.prompt_ids);
  } else if (flags.prompt_given) {
    prompt.text = flags.prompt;
    prompt.ids = model.encode(prompt.text, "--prompt");
  } else {
    const bool is_stdin = flags.prompt_file == "-";
    prompt.text = is_stdin ? read_stdin() : read_file(flags.prompt_file);
    prompt.ids = model.encode(prompt.text, is_stdin ? "the prompt on standard input" : flags.prompt_file);
  }
  if (flags.generation.add_bos || prompt.ids.empty()) {
    if (!model.begin_token) {
      throw UsageError(prompt.ids.empty() ? "the prompt is empty" : "--add-bos: this model has no end-of-text token",
                       "give a prompt of at least one token");
    }
    prompt.ids.insert(prompt.ids.begin(), *model.begin_token);
  }
  return prompt;
}

void write_text(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

Json result_json(const Prompt& prompt, const std::vector<infer::Generation>& results,
                 const infer::Engine::Statistics& s, bool speculates) {
  Json choices = Json::array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    choices.push_back({{"index", i},
                       {"text", results[i].text},
                       {"ids", results[i].ids},
                       {"finish_reason", infer::finish_reason_name(results[i].finish)}});
  }
  const auto ratio = [](auto x, auto y) { return y > 0 ? static_cast<double>(x) / static_cast<double>(y) : 0.0; };
  Json json = {
      {"prompt_tokens", prompt.ids.size()}, {"choices", choices},
      {"new_tokens", s.new_tokens},         {"prefill_seconds", s.prefill_seconds},
      {"decode_seconds", s.decode_seconds}, {"decode_tokens_per_second", ratio(s.decoded_tokens, s.decode_seconds)}};
  if (speculates) {
    json["speculation"] = {{"guessed_tokens", s.guessed_tokens},
                           {"right_tokens", s.right_tokens},
                           {"acceptance_rate", ratio(s.right_tokens, s.guessed_tokens)}};
  }
  return json;
}

// Texts that were made side by side, each behind the prompt where that is echoed.
void print_results(const std::vector<infer::Generation>& results, std::string_view echoed) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    fmt::print("--- {} of {} ({})\n{}{}\n", i + 1, results.size(), infer::finish_reason_name(results[i].finish), echoed,
               results[i].text);
  }
}

void run(const GenerateFlags& flags) {
  const infer::SamplingOptions sampling = sampling_of(flags.generation);
  if (flags.n < 1) throw UsageError(fmt::format("--n: expected a number from 1, got {}", flags.n));
  const infer::EngineOptions options = engine_options(flags.generation);
  Log log(stderr);
  const model::LanguageModel model = load_model(flags.generation, log);
  const Prompt prompt = read_prompt(flags, model);
  const text::Tokenizer* tokenizer = model.tokenizer_or_null();

  std::vector<infer::GenerationRequest> requests;
  for (std::int64_t i = 0; i < flags.n; ++i) {
    infer::GenerationRequest request{.prompt = prompt.ids,
                                     .max_tokens = flags.generation.max_tokens,
                                     .sampling = sampling,
                                     .stop = flags.generation.stop};
    request.sampling.seed += static_cast<std::uint64_t>(i);
    if (!flags.generation.ignore_eos) request.end_tokens = model.end_tokens;
    requests.push_back(std::move(request));
  }

  const InterruptScope interrupts;
  const bool streams = flags.n == 1 && !flags.json;
  std::vector<infer::Generation> results(requests.size());
  std::size_t shown = 0;
  infer::Engine engine(model.model, options);
  {
    Progress progress(log, {.label = "generate", .unit = "tokens"});
    infer::generate(engine, tokenizer, requests, {},
                    {.on_token =
                         [&](std::size_t, std::int32_t id, std::string_view text) {
                           throw_if_interrupted();
                           if (!streams) {
                             progress.update(progress.done() + 1);
                             return;
                           }
                           if (flags.echo && shown == 0) write_text(prompt.text);
                           write_text(tokenizer == nullptr ? fmt::format("{} ", id) : std::string(text));
                           shown += text.size() + 1;
                         },
                     .on_done = [&](std::size_t index, const infer::Generation& result) { results[index] = result; }});
  }
  if (flags.json) {
    fmt::print("{}\n", result_json(prompt, results, engine.statistics(), options.speculate > 0).dump());
  } else if (streams) {
    write_text("\n");
  } else {
    print_results(results, flags.echo ? prompt.text : "");
  }
  log.info(speed_line(engine.statistics()));
}

// --documents: texts from the begin token on, into a file.
void run_documents(const GenerateFlags& flags) {
  if (flags.out.empty()) throw UsageError("--documents needs a file to write", "give --out FILE.jsonl");
  infer::DocumentOptions options{.count = flags.documents, .sampling = sampling_of(flags.generation)};
  if (!flags.temperature_given) options.sampling.temperature = 1;
  if (options.sampling.temperature == 0 && flags.documents > 1) {
    throw UsageError("--temperature 0 makes all documents the same", "give a temperature above 0");
  }
  if (flags.max_tokens_given) options.max_tokens = flags.generation.max_tokens;
  Log log(stderr);
  const model::LanguageModel model = load_model(flags.generation, log);
  const InterruptScope interrupts;
  infer::Engine engine(model.model, {});
  infer::DocumentTotals totals;
  {
    Progress progress(log, {.label = "generate", .unit = "tokens"});
    totals = infer::write_documents(engine, model, options, flags.out, [&] {
      throw_if_interrupted();
      progress.update(progress.done() + 1);
    });
  }
  if (flags.json) {
    const Json result = {
        {"file", flags.out}, {"documents", totals.documents}, {"tokens", totals.tokens}, {"ended", totals.ended}};
    fmt::print("{}\n", result.dump());
  } else {
    fmt::print("wrote {}: {} documents, {} tokens; {} ended by themselves, the others were cut\n", flags.out,
               totals.documents, totals.tokens, totals.ended);
  }
  log.info(speed_line(engine.statistics()));
}

void declare_generate(Flags& flags) {
  const auto values = std::make_shared<GenerateFlags>();
  declare_generation_flags(flags, values->generation);
  flags.option("--prompt", values->prompt, "Text to continue");
  flags.option("--prompt-file", values->prompt_file, "File with the text to continue (-: standard input)");
  flags.option("--prompt-ids", values->prompt_ids, "Token ids to continue, separated by commas (needs no tokenizer)");
  flags.option("--documents", values->documents,
               "Write this many texts, each from the begin token to its end, as training data (--temperature 1 and the "
               "whole window unless given)");
  flags.require_one_of({"--prompt", "--prompt-file", "--prompt-ids", "--documents"});
  flags.option("--out", values->out, "With --documents: JSON lines file to create, {\"text\": ...}");
  flags.option("--n", values->n, "Number of texts; each has the next seed, starting at --seed");
  flags.option("--echo", values->echo, "Print the prompt first");
  flags.option("--json", values->json, "Print one JSON object: text, ids and finish_reason of each, and times");
  flags.run([values, flags]() {
    values->prompt_given = flags.given("--prompt");
    values->prompt_ids_given = flags.given("--prompt-ids");
    values->temperature_given = flags.given("--temperature");
    values->max_tokens_given = flags.given("--max-tokens");
    if (flags.given("--documents")) {
      run_documents(*values);
    } else {
      if (!values->out.empty()) throw UsageError("--out belongs to --documents", "redirect the output instead: > FILE");
      run(*values);
    }
  });
}

}  // namespace

const Command kGenerateCommand = {"generate", "Continue a text",
                                  "crope generate out/model --prompt \"Once upon a time\" --max-tokens 100",
                                  declare_generate};

}  // namespace crope::cli
