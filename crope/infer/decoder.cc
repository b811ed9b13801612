#include "crope/infer/decoder.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "crope/base/error.h"
#include "crope/infer/row_buffer.h"
#include "crope/model/norm_gain.h"
#include "crope/ops/device.h"

namespace crope::infer {
namespace {

using ops::Output;
using torch::Tensor;

constexpr std::int64_t kFewRows = Decoder::kFewRows;

Tensor gain_of(const Tensor& gain, std::int64_t width) {
  return gain.defined() ? model::expand_gain(gain.detach(), width).to(at::kFloat).contiguous() : Tensor();
}

void check_model(const model::Transformer& model) {
  const auto type = model.embedding.defined() ? model.embedding.scalar_type() : at::kFloat;
  const auto device = model::device_of(model);
  if (ops::inference_kernels(device, at::kFloat).linear_rows != nullptr && ops::is_weight_type(type)) return;
  throw Error(fmt::format("generation and scoring need a model on the CPU in fp32 or bf16, this one is {} on {}",
                          toString(type), device.str()));
}

}  // namespace

struct Decoder::State {
  struct Layer {
    Layer(const model::Block& block, const model::ModelConfig& config)
        : attention_norm(gain_of(block.attention_norm, config.d_model)),
          q_norm(gain_of(block.attention.q_norm, config.qk_width())),
          k_norm(gain_of(block.attention.k_norm, config.qk_width())),
          feed_forward_norm(gain_of(block.feed_forward_norm, config.d_model)),
          qkv{ops::stored(block.attention.qkv[0]), ops::stored(block.attention.qkv[1]),
              ops::stored(block.attention.qkv[2])},
          o(ops::stored(block.attention.o)),
          gate(ops::stored(block.feed_forward.gate)),
          up(ops::stored(block.feed_forward.up)),
          down(ops::stored(block.feed_forward.down)) {}

    Tensor attention_norm, q_norm, k_norm, feed_forward_norm;
    std::array<ops::Weight, 3> qkv;
    ops::Weight o, gate, up, down;
  };

  // Some queries of one chunk: rows [row, row + count) of the batch, which see `visible` keys and one more each.
  struct Tile {
    std::size_t chunk;
    std::int64_t row, count, visible;
  };

  explicit State(const model::Transformer& model)
      : config(model.config),
        embedding(ops::stored(model::embedding_weight(model))),
        norm(gain_of(model.norm, model.config.d_model)),
        output(ops::stored(model::output_weight(model))),
        device(model::device_of(model)) {
    for (const model::Block& block : model.blocks) layers.emplace_back(block, config);
  }

  const ops::Kernels& kernels() const { return ops::inference_kernels(device, at::kFloat); }
  void read_chunks(std::span<const Chunk> chunks);
  void cut_tiles(std::span<const Chunk> chunks, bool with_skipped);
  void drop_skipped(std::span<const Chunk> chunks);
  void resize_work();
  void grow_rope_table(std::int64_t length);
  void look_up(std::span<const Chunk> chunks);
  void normalise(const ops::Matrix& x, const Tensor& gain, const ops::Matrix& y);
  void multiply(const ops::Weight& weight, const RowBuffer& x, RowBuffer& y, Output output);
  void project_qkv(const Layer& layer);
  void rotate_and_store(const Layer& layer, std::int64_t index, std::span<const Chunk> chunks);
  void attend(std::int64_t index, std::span<const Chunk> chunks);
  void feed_forward(const Layer& layer, std::int64_t index);

  void show(std::int64_t index, BlockInput input, const RowBuffer& x) const {
    if (observer) observer(index, input, x.tensor());
  }

  model::ModelConfig config;
  InputObserver observer;
  ops::Weight embedding;  // [V, D]
  Tensor norm;            // [D]
  ops::Weight output;     // [V, D]
  torch::Device device;
  std::vector<Layer> layers;
  ops::RopeTable rope;  // of the positions that have been needed

  std::int64_t rows = 0;
  std::vector<Tile> tiles;
  RowBuffer hidden, normed, rotated, mixed, gate, up, logits;
  std::array<RowBuffer, 3> qkv;
  std::vector<ops::CachePlace> places;  // by row
  std::vector<ops::CachePart> parts;
  std::vector<ops::QueryTile> query_tiles;
};

void Decoder::State::grow_rope_table(std::int64_t length) {
  if (rope.cos.defined() && rope.cos.size(0) >= length) return;
  const std::int64_t known = rope.cos.defined() ? rope.cos.size(0) : 256;
  const std::int64_t grown = std::min(config.max_seq_len, std::max(length, 2 * known));
  rope = model::rope_table(config, grown, at::kFloat);
}

void Decoder::State::read_chunks(std::span<const Chunk> chunks) {
  rows = 0;
  std::int64_t longest = 0;
  for (const Chunk& chunk : chunks) {
    const auto count = static_cast<std::int64_t>(chunk.ids.size());
    const std::int64_t before = chunk.cache->length(), after = before + count;
    if (count == 0 || after > config.max_seq_len) {
      throw Error(fmt::format("a sequence of {} tokens: expected 1 to {} (max_seq_len)", after, config.max_seq_len));
    }
    for (const std::int32_t id : chunk.ids) {
      if (id >= 0 && id < config.vocab_size) continue;
      throw Error(fmt::format("token id {} is outside the vocabulary of {}", id, config.vocab_size));
    }
    chunk.cache->reserve(count);
    rows += count;
    longest = std::max(longest, after);
  }
  cut_tiles(chunks, /*with_skipped=*/true);
  grow_rope_table(longest);
  hidden.resize(rows, config.d_model);
  rotated.resize(rows, config.num_heads * config.qk_width());
  resize_work();
}

void Decoder::State::resize_work() {
  normed.resize(rows, config.d_model);
  mixed.resize(rows, config.num_heads * config.v_width());
  gate.resize(rows, config.d_ff);
  up.resize(rows, config.d_ff);
}

void Decoder::State::cut_tiles(std::span<const Chunk> chunks, bool with_skipped) {
  tiles.clear();
  // A tile of several rows sums in another order than one of a single row.
  const std::int64_t most = rows <= kFewRows ? 1 : ops::kMostTileRows;
  std::int64_t row = 0;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const auto count = static_cast<std::int64_t>(chunks[c].ids.size());
    for (std::int64_t i = with_skipped ? 0 : chunks[c].skip_outputs; i < count;) {
      const std::int64_t height = std::min(most, count - i);
      tiles.push_back({c, row, height, chunks[c].cache->length() + i + 1});
      row += height;
      i += height;
    }
  }
  // The longest first, so that none is left for the end.
  std::stable_sort(tiles.begin(), tiles.end(), [](const Tile& x, const Tile& y) { return x.visible > y.visible; });
}

// Behind the last layer's keys and values nothing looks at the skipped tokens any more.
void Decoder::State::drop_skipped(std::span<const Chunk> chunks) {
  if (std::ranges::all_of(chunks, [](const Chunk& chunk) { return chunk.skip_outputs == 0; })) return;
  std::vector<std::pair<std::int64_t, std::int64_t>> wanted;
  std::int64_t row = 0;
  for (const Chunk& chunk : chunks) {
    const auto count = static_cast<std::int64_t>(chunk.ids.size());
    wanted.emplace_back(row + chunk.skip_outputs, row + count);
    row += count;
  }
  hidden.keep(wanted);
  rows = rotated.keep(wanted);
  resize_work();
  cut_tiles(chunks, /*with_skipped=*/false);
}

void Decoder::State::look_up(std::span<const Chunk> chunks) {
  std::int64_t row = 0;
  for (const Chunk& chunk : chunks) {
    const auto count = static_cast<std::int64_t>(chunk.ids.size());
    kernels().look_up_rows(
        {.table = ops::view(embedding).a, .ids = chunk.ids, .y = hidden.view().from_row(row, count)});
    row += count;
  }
}

void Decoder::State::normalise(const ops::Matrix& x, const Tensor& gain, const ops::Matrix& y) {
  kernels().rms_norm({.x = x, .gain = ops::view(gain), .eps = static_cast<float>(config.norm_eps), .y = y});
}

void Decoder::State::multiply(const ops::Weight& weight, const RowBuffer& x, RowBuffer& y, Output output) {
  if (x.view().rows > kFewRows) return ops::multiply_rows(weight, x.tensor(), y.tensor(), output);
  const ops::LinearRows::Map map{ops::view(weight), y.view()};
  kernels().linear_rows({.x = x.view(), .maps = {&map, 1}, .output = output});
}

void Decoder::State::project_qkv(const Layer& layer) {
  std::array<ops::LinearRows::Map, 3> maps;
  for (std::size_t i = 0; i < 3; ++i) {
    maps[i].weight = ops::view(layer.qkv[i]);
    qkv[i].resize(rows, maps[i].weight.out());
    maps[i].y = qkv[i].view();
    if (rows > kFewRows) ops::multiply_rows(layer.qkv[i], normed.tensor(), qkv[i].tensor(), Output::overwrite);
  }
  if (rows <= kFewRows) kernels().linear_rows({.x = normed.view(), .maps = maps});
}

void Decoder::State::rotate_and_store(const Layer& layer, std::int64_t index, std::span<const Chunk> chunks) {
  places.clear();
  for (const Chunk& chunk : chunks) {
    const auto count = static_cast<std::int64_t>(chunk.ids.size());
    for (std::int64_t i = 0; i < count; ++i) places.push_back(chunk.cache->place(index, i));
  }
  kernels().rotary_rows({.H = config.num_heads,
                         .G = config.kv_heads(),
                         .q = qkv[0].view(),
                         .k = qkv[1].view(),
                         .v = qkv[2].view(),
                         .q_gain = ops::view(layer.q_norm),
                         .k_gain = ops::view(layer.k_norm),
                         .eps = static_cast<float>(config.norm_eps),
                         .cos = ops::view(rope.cos),
                         .sin = ops::view(rope.sin),
                         .places = places,
                         .rotated = rotated.view()});
}

void Decoder::State::attend(std::int64_t index, std::span<const Chunk> chunks) {
  parts.clear();
  std::vector<std::size_t> ends;  // of each chunk's parts
  for (const Chunk& chunk : chunks) {
    chunk.cache->append_parts(index, static_cast<std::int64_t>(chunk.ids.size()), parts);
    ends.push_back(parts.size());
  }
  query_tiles.clear();
  for (const auto& [chunk, row, count, visible] : tiles) {
    const std::size_t begin = chunk == 0 ? 0 : ends[chunk - 1];
    query_tiles.push_back({row, count, visible, std::span(parts).subspan(begin, ends[chunk] - begin)});
  }
  kernels().cached_attention({.H = config.num_heads,
                              .G = config.kv_heads(),
                              .scale = static_cast<float>(model::attention_scale(config.qk_width())),
                              .queries = rotated.view(),
                              .tiles = query_tiles,
                              .out = mixed.view()});
}

void Decoder::State::feed_forward(const Layer& layer, std::int64_t index) {
  show(index, BlockInput::feed_forward, normed);
  if (rows > kFewRows) {
    ops::multiply_rows(layer.gate, normed.tensor(), gate.tensor(), Output::overwrite);
    ops::multiply_rows(layer.up, normed.tensor(), up.tensor(), Output::overwrite);
    kernels().swiglu({.gate = gate.view(), .up = up.view(), .y = gate.view()});
  } else {
    kernels().gated_linear_rows({.x = normed.view(),
                                 .gate = ops::view(layer.gate),
                                 .up = ops::view(layer.up),
                                 .gated = gate.view(),
                                 .up_rows = up.view()});
  }
  show(index, BlockInput::down, gate);
  multiply(layer.down, gate, hidden, Output::add);
}

Decoder::Decoder(const model::Transformer& model) {
  check_model(model);
  const at::NoGradGuard no_grad;
  state_ = std::make_unique<State>(model);
}

Decoder::~Decoder() = default;

void Decoder::observe(InputObserver observer) {
  state_->observer = std::move(observer);
}

const model::ModelConfig& Decoder::config() const {
  return state_->config;
}

Tensor Decoder::append(std::span<const Chunk> chunks) {
  const at::NoGradGuard no_grad;
  State& state = *state_;
  state.read_chunks(chunks);
  state.look_up(chunks);
  for (std::size_t i = 0; i < state.layers.size(); ++i) {
    const State::Layer& layer = state.layers[i];
    const auto index = static_cast<std::int64_t>(i);
    state.normalise(state.hidden.view(), layer.attention_norm, state.normed.view());
    state.show(index, BlockInput::attention, state.normed);
    state.project_qkv(layer);
    state.rotate_and_store(layer, index, chunks);
    if (i + 1 == state.layers.size()) {
      state.drop_skipped(chunks);
      if (state.rows == 0) break;
    }
    state.attend(index, chunks);
    state.show(index, BlockInput::o, state.mixed);
    state.multiply(layer.o, state.mixed, state.hidden, Output::add);
    state.normalise(state.hidden.view(), layer.feed_forward_norm, state.normed.view());
    state.feed_forward(layer, index);
  }
  for (const Chunk& chunk : chunks) chunk.cache->advance(static_cast<std::int64_t>(chunk.ids.size()));
  return state.hidden.tensor();
}

Tensor Decoder::logits(std::span<const std::int64_t> rows) {
  Tensor whole;
  for_logit_panels(rows, config().vocab_size, [&](std::int64_t, const Tensor& panel) { whole = panel; });
  return whole;
}

void Decoder::for_logit_panels(std::span<const std::int64_t> rows, std::int64_t columns,
                               const std::function<void(std::int64_t, const Tensor&)>& on_panel) {
  const at::NoGradGuard no_grad;
  State& state = *state_;
  const auto count = static_cast<std::int64_t>(rows.size());
  state.normed.resize(count, state.config.d_model);
  for (std::size_t i = 0, end = 1; i < rows.size(); i = end++) {  // rows that follow each other at once
    while (end < rows.size() && rows[end] == rows[end - 1] + 1) ++end;
    const auto length = static_cast<std::int64_t>(end - i);
    state.normalise(state.hidden.view().from_row(rows[i], length), state.norm,
                    state.normed.view().from_row(static_cast<std::int64_t>(i), length));
  }
  for (std::int64_t first = 0; first < state.config.vocab_size; first += columns) {
    const std::int64_t width = std::min(columns, state.config.vocab_size - first);
    state.logits.resize(count, width, /*gap=*/0);
    state.multiply(ops::narrow_outputs(state.output, first, width), state.normed, state.logits, Output::overwrite);
    on_panel(first, state.logits.tensor());
  }
}

}  // namespace crope::infer
