#include "crope/serve/attention_view.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "crope/base/error.h"
#include "crope/model/norm_gain.h"
#include "crope/ops/rms_norm.h"
#include "crope/serve/openai_response.h"

namespace crope::serve {
namespace {

using torch::Tensor;

// Whether it is a whole number from 0 to `count` - 1, however it is written.
bool is_index(const Json& json, std::int64_t count) {
  if (!json.is_number() || json < 0 || json >= count) return false;
  return json.is_number_integer() || std::trunc(json.get<double>()) == json.get<double>();
}

std::int64_t index_field(const Json& body, const char* name, std::int64_t count) {
  const auto found = body.find(name);
  if (found == body.end() || !is_index(*found, count)) {
    throw UsageError(fmt::format("'{}': expected a whole number from 0 to {}", name, count - 1));
  }
  return found->get<std::int64_t>();
}

std::vector<std::int32_t> id_list(const Json& list, std::int64_t vocab_size) {
  if (!list.is_array()) throw UsageError("'ids': expected a list of token ids");
  std::vector<std::int32_t> ids;
  for (const Json& id : list) {
    if (!is_index(id, vocab_size)) {
      throw UsageError(fmt::format("'ids': expected whole numbers from 0 to {}", vocab_size - 1));
    }
    ids.push_back(id.get<std::int32_t>());
  }
  return ids;
}

std::vector<std::int32_t> ids_of(const Json& body, const model::ModelConfig& config, const text::Tokenizer* tokenizer) {
  const auto ids = body.find("ids"), text = body.find("text");
  if ((ids == body.end()) == (text == body.end())) throw UsageError("expected either 'text' or 'ids'");
  if (ids != body.end()) return id_list(*ids, config.vocab_size);
  if (!text->is_string()) throw UsageError("'text': expected a string");
  if (tokenizer == nullptr) {
    throw UsageError("'text': this model has no tokenizer.json", "send 'ids', a list of token ids");
  }
  std::vector<std::int32_t> encoded = tokenizer->encode_with_special(text->get_ref<const std::string&>());
  // A tokenizer may be larger than the model it stands beside.
  for (const std::int32_t id : encoded) {
    if (id >= config.vocab_size) {
      throw UsageError(fmt::format("'text': token {} is outside the model's vocabulary of {}", id, config.vocab_size));
    }
  }
  return encoded;
}

// What model::forward makes of the queries or keys x[1, T, heads K] of one head before it compares them: [T, K].
Tensor normalised_head(const Tensor& x, std::int64_t heads, std::int64_t head, const Tensor& gain, double norm_eps) {
  const Tensor one = model::split_heads(x, heads).select(1, head).squeeze(0).contiguous();
  const Tensor full_gain = model::expand_gain(gain, one.size(-1));
  return gain.defined() ? ops::rms_norm(one, full_gain, norm_eps) : one;
}

// The imaginary part of q~^dagger k~; the real part is q k^T. q, k: [T, K] in halves.
Tensor imaginary_products(const Tensor& q, const Tensor& k) {
  const std::int64_t half = q.size(-1) / 2;
  const Tensor q_re = q.narrow(-1, 0, half), q_im = q.narrow(-1, half, half);
  const Tensor k_re = k.narrow(-1, 0, half), k_im = k.narrow(-1, half, half);
  return at::matmul(q_re, k_im.t()) - at::matmul(q_im, k_re.t());
}

Tensor visible(const Tensor& x) {
  return x.tril().to(at::kCPU, at::kFloat).contiguous();
}

Json rows_json(const Tensor& matrix) {
  const std::int64_t T = matrix.size(0);
  const float* value = matrix.const_data_ptr<float>();
  Json rows = Json::array();
  for (std::int64_t m = 0; m < T; ++m) {
    Json row = Json::array();
    for (std::int64_t n = 0; n <= m; ++n) row.push_back(std::round(static_cast<double>(value[m * T + n]) * 1e5) / 1e5);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

AttentionRequest attention_request(const Json& body, const model::ModelConfig& config,
                                   const text::Tokenizer* tokenizer) {
  if (!body.is_object()) throw UsageError("expected a JSON object with 'text' or 'ids', 'layer' and 'head'");
  AttentionRequest request;
  request.layer = index_field(body, "layer", config.num_layers);
  request.head = index_field(body, "head", config.num_heads);
  request.ids = ids_of(body, config, tokenizer);
  if (request.ids.empty()) throw UsageError("expected at least one token");
  request.text_tokens = static_cast<std::int64_t>(request.ids.size());
  request.ids.resize(
      static_cast<std::size_t>(std::min({request.text_tokens, kMaxAttentionTokens, config.max_seq_len})));
  return request;
}

AttentionView attention_view(const model::Transformer& model, const AttentionRequest& request) {
  const at::NoGradGuard no_grad;
  const Tensor ids = at::tensor(std::vector<std::int64_t>(request.ids.begin(), request.ids.end()),
                                at::device(model::device_of(model)).dtype(at::kLong));
  const model::LayerInput input = model::layer_input(model, ids.unsqueeze(0), request.layer);
  const model::Attention& attention = input.block.attention;
  const std::vector<Tensor> projected = ops::project_all(input.x, std::span(attention.qkv).first<2>());
  const std::int64_t H = attention.num_heads, G = attention.num_kv_heads;
  const Tensor q = normalised_head(projected[0], H, request.head, attention.q_norm, attention.norm_eps);
  const Tensor k = normalised_head(projected[1], G, request.head / (H / G), attention.k_norm, attention.norm_eps);
  const Tensor rotated_q = ops::rope(q, input.positions), rotated_k = ops::rope(k, input.positions);

  const double scale = model::attention_scale(q.size(-1));
  const Tensor scores = at::matmul(rotated_q, rotated_k.t()) * scale;
  const Tensor hidden = at::ones_like(scores, at::kBool).triu(1);
  AttentionView view;
  view.scores = visible(scores);
  view.weights = visible(at::softmax(scores.masked_fill(hidden, -std::numeric_limits<double>::infinity()), -1));
  const bool complex = std::holds_alternative<ops::ComplexWeight>(attention.qkv[0]) &&
                       std::holds_alternative<ops::ComplexWeight>(attention.qkv[1]);
  if (complex) {
    const Tensor imaginary = imaginary_products(rotated_q, rotated_k) * scale;
    view.magnitude = visible(at::hypot(scores, imaginary));
    view.phase = visible(at::atan2(imaginary, scores));
    const Tensor content = at::matmul(q, k.t()) * scale, content_imaginary = imaginary_products(q, k) * scale;
    view.content_magnitude = visible(at::hypot(content, content_imaginary));
    view.content_phase = visible(at::atan2(content_imaginary, content));
  }
  return view;
}

Json attention_json(const AttentionView& view, const AttentionRequest& request, const text::Tokenizer* tokenizer) {
  Json json = {{"layer", request.layer},
               {"head", request.head},
               {"complex", view.phase.defined()},
               {"text_tokens", request.text_tokens},
               {"ids", request.ids}};
  if (tokenizer != nullptr) {
    Json tokens = Json::array();
    for (const std::int32_t id : request.ids) tokens.push_back(token_name(id, tokenizer));
    json["tokens"] = std::move(tokens);
  }
  json["weights"] = rows_json(view.weights);
  json["scores"] = rows_json(view.scores);
  if (view.phase.defined()) {
    json["magnitude"] = rows_json(view.magnitude);
    json["phase"] = rows_json(view.phase);
    json["content_magnitude"] = rows_json(view.content_magnitude);
    json["content_phase"] = rows_json(view.content_phase);
  }
  return json;
}

}  // namespace crope::serve
