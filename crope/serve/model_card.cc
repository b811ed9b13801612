#include "crope/serve/model_card.h"

#include <algorithm>

#include "crope/model/parameters.h"
#include "crope/serve/attention_view.h"

namespace crope::serve {
namespace {

Json counts_json(const model::ParameterCounts& counts) {
  return {{"embedding", counts.embedding},
          {"attention", counts.attention},
          {"feed_forward", counts.feed_forward},
          {"norm", counts.norm},
          {"total", counts.total()}};
}

}  // namespace

Json model_card(const model::ModelConfig& config, const ServedModel& served) {
  const model::VariantTraits& variant = model::traits(config.variant);
  Json tied = Json::array();
  if (variant.ties_qk) tied = {"q", "k"};
  if (variant.ties_v) tied.push_back("v");
  if (variant.ties_o) tied.push_back("o");
  model::ModelConfig rope = config;
  rope.variant = model::Variant::rope;
  return {{"name", served.name},
          {"variant", variant.name},
          {"precision", served.precision},
          {"tokenizer", served.has_tokenizer},
          {"chat", served.chat.empty() ? Json() : Json(served.chat)},
          {"run", served.is_run},
          {"config", model::config_to_json(config)},
          {"tied", tied},
          {"parameters", counts_json(model::count_parameters(config))},
          {"rope_parameters", counts_json(model::count_parameters(rope))},
          {"attention_saving", model::attention_saving(config)},
          {"max_attention_tokens", std::min(kMaxAttentionTokens, config.max_seq_len)}};
}

}  // namespace crope::serve
