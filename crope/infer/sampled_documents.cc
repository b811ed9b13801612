#include "crope/infer/sampled_documents.h"

#include <fmt/format.h>

#include <map>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json.h"
#include "crope/infer/generation.h"

namespace crope::infer {
namespace {

GenerationRequest document_request(const model::LanguageModel& model, const DocumentOptions& options, std::int64_t i) {
  GenerationRequest request{.prompt = {*model.begin_token},
                            .max_tokens = options.max_tokens > 0 ? options.max_tokens : model.window(),
                            .sampling = options.sampling,
                            .end_tokens = model.end_tokens};
  request.end_tokens.push_back(*model.begin_token);  // the next document begins
  request.sampling.seed += static_cast<std::uint64_t>(i);
  return request;
}

}  // namespace

DocumentTotals write_documents(Engine& engine, const model::LanguageModel& model, const DocumentOptions& options,
                               const std::filesystem::path& out, const std::function<void()>& on_token) {
  if (options.count < 1) throw UsageError(fmt::format("documents: expected a number from 1, got {}", options.count));
  const text::Tokenizer& tokenizer = model.require_tokenizer();
  if (!model.begin_token) {
    throw UsageError(fmt::format("{} has no token that begins a text", model.dir.string()),
                     "add bos_token_id to its config.json");
  }
  if (std::filesystem::exists(out)) {
    throw UsageError(fmt::format("{} exists already", out.string()), "give another name, or remove it first");
  }
  std::vector<GenerationRequest> requests;
  for (std::int64_t i = 0; i < options.count; ++i) requests.push_back(document_request(model, options, i));

  AtomicFile file(out);
  DocumentTotals totals;
  std::map<std::size_t, std::string> waiting;  // for documents with smaller seeds
  std::size_t next = 0;
  generate(engine, &tokenizer, requests, {},
           {.on_token = [&](std::size_t, std::int32_t, std::string_view) { on_token(); },
            .on_done =
                [&](std::size_t index, const Generation& document) {
                  totals.documents += 1;
                  totals.tokens += std::ssize(document.ids);
                  totals.ended += document.finish == FinishReason::end_token ? 1 : 0;
                  waiting.emplace(index, Json{{"text", document.text}}.dump() + "\n");
                  for (auto line = waiting.find(next); line != waiting.end(); line = waiting.find(++next)) {
                    file.write(line->second);
                    waiting.erase(line);
                  }
                }});
  file.commit();
  return totals;
}

}  // namespace crope::infer
