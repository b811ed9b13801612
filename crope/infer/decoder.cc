#include "crope/infer/decoder.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>

#include "crope/base/error.h"
#include "crope/infer/linear_map.h"
#include "crope/infer/row_buffer.h"
#include "crope/model/norm_gain.h"
#include "crope/ops/cpu/cached_attention.h"
#include "crope/ops/cpu/isa.h"
#include "crope/ops/cpu/row_kernels.h"
#include "crope/ops/rope.h"

namespace crope::infer {
namespace {

using torch::Tensor;

// Up to this many rows the weights are read once by our own kernel; beyond, ATen's products take over. A choice, not
// yet a measurement.
constexpr std::int64_t kSkinnyRows = 24;

// Weights that a thread should have to itself before another one is woken up.
constexpr std::int64_t kGrainWeights = 1 << 15;

// A matrix product's worth of rows for a thread.
constexpr std::int64_t kGrainRows = 8;

Tensor gain_of(const Tensor& gain, std::int64_t width) {
  return gain.defined() ? model::expand_gain(gain.detach(), width).to(at::kFloat).contiguous() : Tensor();
}

const float* data_of(const Tensor& gain) {
  return gain.defined() ? gain.const_data_ptr<float>() : nullptr;
}

void check_model(const model::Transformer& model) {
  const auto type = model.embedding.scalar_type();
  if (!model.embedding.device().is_cpu() || (type != at::kFloat && type != at::kBFloat16)) {
    throw Error(fmt::format("generation and scoring need a model on the CPU in fp32 or bf16, this one is {} on {}",
                            toString(type), model.embedding.device().str()));
  }
}

template <typename Function>
void for_rows(std::int64_t rows, const Function& function) {
  at::parallel_for(0, rows, kGrainRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) function(r);
  });
}

template <typename Function>
void for_units(const LinearMap& map, std::int64_t units, const Function& function) {
  at::parallel_for(0, units, std::max<std::int64_t>(1, kGrainWeights / map.in()), function);
}

void multiply(const LinearMap& map, const RowBuffer& x, RowBuffer& y, std::int64_t rows, Output output) {
  if (rows > kSkinnyRows) return multiply_rows(map, x.tensor(), y.tensor(), output);
  for_units(map, map.units(), [&](std::int64_t begin, std::int64_t end) {
    multiply_units(map, x.input(), begin, end, y.output(), output);
  });
}

}  // namespace

struct Decoder::State {
  struct Layer {
    Layer(const model::Block& block, const model::ModelConfig& config)
        : attention_norm(gain_of(block.attention_norm, config.d_model)),
          q_norm(gain_of(block.attention.q_norm, config.qk_width())),
          k_norm(gain_of(block.attention.k_norm, config.qk_width())),
          feed_forward_norm(gain_of(block.feed_forward_norm, config.d_model)),
          qkv{linear_map(block.attention.qkv[0]), linear_map(block.attention.qkv[1]),
              linear_map(block.attention.qkv[2])},
          o(linear_map(block.attention.o)),
          gate(linear_map(block.feed_forward.gate)),
          up(linear_map(block.feed_forward.up)),
          down(linear_map(block.feed_forward.down)) {}

    Tensor attention_norm, q_norm, k_norm, feed_forward_norm;
    std::array<LinearMap, 3> qkv;
    LinearMap o, gate, up, down;
  };

  // Some queries of one chunk: rows [row, row + count) of the batch, which see `visible` keys and one more each.
  struct Tile {
    const Chunk* chunk;
    std::int64_t row, count, visible;
  };

  // The place of a row in its chunk.
  struct RowPlace {
    const Chunk* chunk;
    std::int64_t offset;
  };

  explicit State(const model::Transformer& model)
      : config(model.config),
        embedding(model.embedding.detach().contiguous()),
        norm(gain_of(model.norm, model.config.d_model)),
        output(linear_map(model.output)) {
    for (const model::Block& block : model.blocks) layers.emplace_back(block, config);
  }

  void read_chunks(std::span<const Chunk> chunks);
  void cut_tiles(std::span<const Chunk> chunks, bool quiet_too);
  void drop_quiet(std::span<const Chunk> chunks);
  void resize_work();
  void grow_rope_table(std::int64_t length);
  void look_up(std::span<const Chunk> chunks);
  void normalise(const Tensor& gain);
  void project_qkv(const Layer& layer);
  void rotate_and_store(const Layer& layer, std::int64_t index);
  void attend(std::int64_t index);
  void feed_forward(const Layer& layer);

  model::ModelConfig config;
  Tensor embedding;  // [V, D]
  Tensor norm;       // [D]
  LinearMap output;
  std::vector<Layer> layers;
  ops::RopeTable rope;  // of the positions that have been needed

  std::int64_t rows = 0;
  std::vector<RowPlace> places;  // by row
  std::vector<Tile> tiles;
  std::int64_t longest = 0;  // keys that a row sees
  RowBuffer hidden, normed, rotated, mixed, gate, up, logits;
  std::array<RowBuffer, 3> qkv;
  std::vector<float> scores;
};

void Decoder::State::grow_rope_table(std::int64_t length) {
  if (rope.cos.defined() && rope.cos.size(0) >= length) return;
  const std::int64_t known = rope.cos.defined() ? rope.cos.size(0) : 256;
  const std::int64_t grown = std::min(config.max_seq_len, std::max(length, 2 * known));
  rope = ops::rope_table(at::arange(grown, at::kLong), config.qk_width(), config.rope_theta, at::kFloat);
}

void Decoder::State::read_chunks(std::span<const Chunk> chunks) {
  places.clear();
  rows = longest = 0;
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
    for (std::int64_t i = 0; i < count; ++i) places.push_back({&chunk, i});
    rows += count;
    longest = std::max(longest, after);
  }
  cut_tiles(chunks, /*quiet_too=*/true);
  grow_rope_table(longest);
  scores.resize(static_cast<std::size_t>(at::get_num_threads() * ops::cpu::kMaxAttentionRows * longest));
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

void Decoder::State::cut_tiles(std::span<const Chunk> chunks, bool quiet_too) {
  tiles.clear();
  std::int64_t row = 0;
  for (const Chunk& chunk : chunks) {
    const auto count = static_cast<std::int64_t>(chunk.ids.size());
    for (std::int64_t i = quiet_too ? 0 : chunk.quiet; i < count;) {
      const std::int64_t height = std::min(ops::cpu::kMaxAttentionRows, count - i);
      tiles.push_back({&chunk, row, height, chunk.cache->length() + i + 1});
      row += height;
      i += height;
    }
  }
  // The longest first, so that none is left for the end.
  std::stable_sort(tiles.begin(), tiles.end(), [](const Tile& x, const Tile& y) { return x.visible > y.visible; });
}

// Behind the last layer's keys and values nothing looks at the quiet tokens any more.
void Decoder::State::drop_quiet(std::span<const Chunk> chunks) {
  if (std::ranges::all_of(chunks, [](const Chunk& chunk) { return chunk.quiet == 0; })) return;
  std::vector<std::pair<std::int64_t, std::int64_t>> wanted;
  std::int64_t row = 0;
  for (const Chunk& chunk : chunks) {
    const auto count = static_cast<std::int64_t>(chunk.ids.size());
    wanted.emplace_back(row + chunk.quiet, row + count);
    row += count;
  }
  hidden.keep(wanted);
  rows = rotated.keep(wanted);
  resize_work();
  cut_tiles(chunks, /*quiet_too=*/false);
}

void Decoder::State::look_up(std::span<const Chunk> chunks) {
  std::int64_t row = 0;
  for (const Chunk& chunk : chunks) {
    for (const std::int32_t id : chunk.ids) {
      float* out = hidden.row(row++);
      if (embedding.scalar_type() == at::kFloat) {
        std::memcpy(out, embedding.const_data_ptr<float>() + id * config.d_model,
                    static_cast<std::size_t>(config.d_model) * sizeof(float));
      } else {
        const auto* in = embedding.const_data_ptr<at::BFloat16>() + id * config.d_model;
        for (std::int64_t i = 0; i < config.d_model; ++i) out[i] = in[i];
      }
    }
  }
}

void Decoder::State::normalise(const Tensor& gain) {
  for_rows(rows, [&](std::int64_t r) {
    ops::cpu::normalise_row(hidden.row(r), data_of(gain), static_cast<float>(config.norm_eps), config.d_model,
                            normed.row(r));
  });
}

void Decoder::State::project_qkv(const Layer& layer) {
  for (std::size_t i = 0; i < 3; ++i) qkv[i].resize(rows, layer.qkv[i].out());
  if (rows > kSkinnyRows) {
    for (std::size_t i = 0; i < 3; ++i) {
      multiply_rows(layer.qkv[i], normed.tensor(), qkv[i].tensor(), Output::overwrite);
    }
    return;
  }
  // One after the other as if they were one matrix.
  const std::int64_t all = layer.qkv[0].units() + layer.qkv[1].units() + layer.qkv[2].units();
  for_units(layer.qkv[0], all, [&](std::int64_t begin, std::int64_t end) {
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t units = layer.qkv[i].units();
      const std::int64_t first = std::clamp<std::int64_t>(begin, 0, units),
                         last = std::clamp<std::int64_t>(end, 0, units);
      if (first < last) {
        multiply_units(layer.qkv[i], normed.input(), first, last, qkv[i].output(), Output::overwrite);
      }
      begin -= units;
      end -= units;
    }
  });
}

void Decoder::State::rotate_and_store(const Layer& layer, std::int64_t index) {
  const std::int64_t K = config.qk_width(), Kv = config.v_width(), H = config.num_heads;
  const auto eps = static_cast<float>(config.norm_eps);
  for_rows(rows, [&](std::int64_t r) {
    const KvCache& cache = *places[static_cast<std::size_t>(r)].chunk->cache;
    const std::int64_t offset = places[static_cast<std::size_t>(r)].offset;
    const std::int64_t phase = (cache.length() + offset) * (K / 2);
    const float* cos = rope.cos.const_data_ptr<float>() + phase;
    const float* sin = rope.sin.const_data_ptr<float>() + phase;
    const float *q = qkv[0].row(r), *k = qkv[1].row(r), *v = qkv[2].row(r);
    for (std::int64_t h = 0; h < H; ++h) {
      const std::int64_t re = h * (K / 2), im = (H + h) * (K / 2);
      ops::cpu::rotate_head(q + re, q + im, data_of(layer.q_norm), eps, cos, sin, K, rotated.row(r) + h * K);
      ops::cpu::rotate_head(k + re, k + im, data_of(layer.k_norm), eps, cos, sin, K, cache.key_row(index, h, offset));
      float* value = cache.value_row(index, h, offset);
      const auto half = static_cast<std::size_t>(Kv / 2);
      std::memcpy(value, v + h * (Kv / 2), half * sizeof(float));
      std::memcpy(value + half, v + (H + h) * (Kv / 2), half * sizeof(float));
    }
  });
}

void Decoder::State::attend(std::int64_t index) {
  const std::int64_t K = config.qk_width(), Kv = config.v_width(), H = config.num_heads;
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(K)));
  const auto items = static_cast<std::int64_t>(tiles.size()) * H;
  const std::int64_t threads = std::min<std::int64_t>(at::get_num_threads(), items);
  std::atomic<std::int64_t> next = 0;
  at::parallel_for(0, threads, 1, [&](std::int64_t thread, std::int64_t) {
    std::vector<ops::cpu::KeyValuePart> parts;
    float* room = scores.data() + thread * ops::cpu::kMaxAttentionRows * longest;
    for (std::int64_t item = next++; item < items; item = next++) {
      const Tile& tile = tiles[static_cast<std::size_t>(item / H)];
      const std::int64_t h = item % H;
      parts.clear();
      tile.chunk->cache->append_parts(index, h, static_cast<std::int64_t>(tile.chunk->ids.size()), parts);
      const ops::cpu::AttentionTile work{.queries = rotated.row(tile.row) + h * K,
                                         .query_stride = rotated.input().stride,
                                         .rows = tile.count,
                                         .visible = tile.visible,
                                         .K = K,
                                         .Kv = Kv,
                                         .scale = scale,
                                         .out = mixed.row(tile.row) + h * (Kv / 2),
                                         .out_half = H * (Kv / 2),
                                         .out_stride = mixed.output().stride};
      ops::cpu::attend(work, parts, room);
    }
  });
}

void Decoder::State::feed_forward(const Layer& layer) {
  if (rows > kSkinnyRows) {
    multiply_rows(layer.gate, normed.tensor(), gate.tensor(), Output::overwrite);
    multiply_rows(layer.up, normed.tensor(), up.tensor(), Output::overwrite);
    for_rows(rows, [&](std::int64_t r) { ops::cpu::gate_row(gate.row(r), up.row(r), config.d_ff); });
  } else {
    for_units(layer.gate, config.d_ff, [&](std::int64_t begin, std::int64_t end) {
      multiply_units(layer.gate, normed.input(), begin, end, gate.output(), Output::overwrite);
      multiply_units(layer.up, normed.input(), begin, end, up.output(), Output::overwrite);
      for (std::int64_t r = 0; r < rows; ++r) ops::cpu::gate_row(gate.row(r) + begin, up.row(r) + begin, end - begin);
    });
  }
  multiply(layer.down, gate, hidden, rows, Output::add);
}

Decoder::Decoder(const model::Transformer& model) {
  check_model(model);
  ops::cpu::instruction_set();  // reads CROPE_ISA before the first kernel runs
  const at::NoGradGuard no_grad;
  state_ = std::make_unique<State>(model);
}

Decoder::~Decoder() = default;

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
    state.normalise(layer.attention_norm);
    state.project_qkv(layer);
    state.rotate_and_store(layer, index);
    if (i + 1 == state.layers.size()) {
      state.drop_quiet(chunks);
      if (state.rows == 0) break;
    }
    state.attend(index);
    multiply(layer.o, state.mixed, state.hidden, state.rows, Output::add);
    state.normalise(layer.feed_forward_norm);
    state.feed_forward(layer);
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
  for_rows(count, [&](std::int64_t r) {
    ops::cpu::normalise_row(state.hidden.row(rows[static_cast<std::size_t>(r)]), data_of(state.norm),
                            static_cast<float>(state.config.norm_eps), state.config.d_model, state.normed.row(r));
  });
  for (std::int64_t first = 0; first < state.config.vocab_size; first += columns) {
    const std::int64_t width = std::min(columns, state.config.vocab_size - first);
    state.logits.resize(count, width, /*gap=*/0);
    multiply(linear_map(state.output.weight.narrow(0, first, width)), state.normed, state.logits, count,
             Output::overwrite);
    on_panel(first, state.logits.tensor());
  }
}

}  // namespace crope::infer
