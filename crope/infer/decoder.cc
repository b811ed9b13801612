#include "crope/infer/decoder.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "crope/base/error.h"
#include "crope/ops/rms_norm.h"
#include "crope/ops/swiglu.h"

namespace crope::infer {

using torch::Tensor;

struct Decoder::State {
  model::Transformer model;
};

namespace {

Tensor heads_of(const Tensor& flat, const Tensor& gain, const model::Attention& attention,
                const ops::RopeTable& positions) {
  const Tensor heads = model::split_heads(flat.unsqueeze(0), attention.num_heads);
  return ops::rope(gain.defined() ? ops::rms_norm(heads, gain, attention.norm_eps) : heads, positions)[0];
}

Tensor rows_of(const float* data, int64_t rows, int64_t width) {
  return at::from_blob(const_cast<float*>(data), {rows, width}, at::kFloat);
}

// out[n, H Kv] of the chunk's tokens, whose q[H, n, K] are turned; keys and values are in the cache.
Tensor attend(const Tensor& q, const Chunk& chunk, int64_t layer) {
  const int64_t n = q.size(1), before = chunk.cache->length();
  std::vector<Tensor> outputs;
  for (int64_t h = 0; h < q.size(0); ++h) {
    std::vector<CachePart> parts;
    chunk.cache->append_parts(layer, h, n, parts);
    std::vector<Tensor> keys, values;
    for (const CachePart& part : parts) {
      keys.push_back(rows_of(part.keys, part.length, chunk.cache->shape().key_width));
      values.push_back(rows_of(part.values, part.length, chunk.cache->shape().value_width));
    }
    Tensor scores = q[h].matmul(at::cat(keys).t()) / std::sqrt(static_cast<double>(q.size(2)));
    scores.masked_fill_(at::ones({n, before + n}, at::kBool).triu(before + 1), -INFINITY);
    outputs.push_back(at::softmax(scores, -1).matmul(at::cat(values)));
  }
  return model::merge_heads(at::stack(outputs).unsqueeze(0))[0];
}

}  // namespace

Decoder::Decoder(const model::Transformer& model) : state_(std::make_unique<State>(State{model})) {}
Decoder::~Decoder() = default;

const model::ModelConfig& Decoder::config() const {
  return state_->model.config;
}

Tensor Decoder::append(std::span<const Chunk> chunks) {
  const at::NoGradGuard no_grad;
  const model::Transformer& model = state_->model;
  const model::ModelConfig& config = model.config;
  std::vector<int64_t> ids, positions;
  for (const Chunk& chunk : chunks) {
    const auto n = static_cast<int64_t>(chunk.ids.size());
    if (n == 0 || chunk.cache->length() + n > config.max_seq_len) {
      throw Error(fmt::format("a sequence of {} tokens: expected 1 to {} (max_seq_len)", chunk.cache->length() + n,
                              config.max_seq_len));
    }
    chunk.cache->reserve(n);
    for (int64_t i = 0; i < n; ++i) {
      ids.push_back(chunk.ids[static_cast<std::size_t>(i)]);
      positions.push_back(chunk.cache->length() + i);
      if (ids.back() < 0 || ids.back() >= config.vocab_size) {
        throw Error(fmt::format("token id {} is outside the vocabulary of {}", ids.back(), config.vocab_size));
      }
    }
  }
  const ops::RopeTable table = ops::rope_table(at::tensor(positions, at::kLong), config.qk_width(), config.rope_theta,
                                               at::TensorOptions(at::kFloat));
  Tensor h = at::embedding(model.embedding, at::tensor(ids, at::kLong)).to(at::kFloat);
  for (int64_t layer = 0; layer < config.num_layers; ++layer) {
    const model::Block& block = model.blocks[static_cast<std::size_t>(layer)];
    const auto [q_flat, k_flat, v_flat] =
        model::project(ops::rms_norm(h, block.attention_norm, config.norm_eps), block.attention.qkv);
    const Tensor q = heads_of(q_flat, block.attention.q_norm, block.attention, table);
    const Tensor k = heads_of(k_flat, block.attention.k_norm, block.attention, table);
    const Tensor v = model::split_heads(v_flat.unsqueeze(0), config.num_heads)[0];
    std::vector<Tensor> outputs;
    int64_t row = 0;
    for (const Chunk& chunk : chunks) {
      const auto n = static_cast<int64_t>(chunk.ids.size());
      for (int64_t head = 0; head < config.num_heads; ++head) {
        rows_of(chunk.cache->key_row(layer, head, 0), n, k.size(2)).copy_(k[head].narrow(0, row, n));
        rows_of(chunk.cache->value_row(layer, head, 0), n, v.size(2)).copy_(v[head].narrow(0, row, n));
      }
      outputs.push_back(attend(q.narrow(1, row, n), chunk, layer));
      row += n;
    }
    h = h + model::project(at::cat(outputs), block.attention.o);
    h = h + model::forward(block.feed_forward, ops::rms_norm(h, block.feed_forward_norm, config.norm_eps));
  }
  for (const Chunk& chunk : chunks) chunk.cache->advance(static_cast<int64_t>(chunk.ids.size()));
  return h;
}

Tensor Decoder::logits(const Tensor& output, std::span<const std::int64_t> rows) {
  const at::NoGradGuard no_grad;
  const model::Transformer& model = state_->model;
  const Tensor index = at::tensor(at::ArrayRef<int64_t>(rows.data(), rows.size()), at::kLong);
  return at::linear(ops::rms_norm(output.index_select(0, index), model.norm, model.config.norm_eps), model.output);
}

}  // namespace crope::infer
