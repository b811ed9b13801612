#include "crope/train/micro_batch.h"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>

#include "crope/base/rounding.h"
#include "crope/model/parameters.h"
#include "crope/train/memory_need.h"

namespace crope::train {
namespace {

constexpr std::int64_t kMicroBatchTokens = 2048;  // enough for full speed on a CPU; more only takes memory
constexpr double kUsableShare = 5.0 / 6;          // the rest is lost between blocks of memory
constexpr double kLogitsPerChunk = 1 << 26;       // linear_cross_entropy.cc

struct Widths {
  double D, F, q, k, v, merged;  // of the stream, the feed-forward layer, q, k, v and what attention gives

  explicit Widths(const model::ModelConfig& c)
      : D(static_cast<double>(c.d_model)),
        F(static_cast<double>(c.d_ff)),
        q(static_cast<double>(c.num_heads * c.qk_width())),
        k(static_cast<double>(c.kv_heads() * c.qk_width())),
        v(static_cast<double>(c.kv_heads() * c.v_width())),
        merged(static_cast<double>(c.num_heads * c.v_width())) {}
};

// What one layer keeps of a token for its gradient, in bytes; n is the size of a number in products.
double layer_bytes(const model::ModelConfig& config, double n) {
  const Widths w(config);
  const double heads = static_cast<double>(config.num_heads);
  // SDPA wants one width for all, and as many heads of keys and values as of queries.
  const double attended = 4 * heads * static_cast<double>(std::max(config.qk_width(), config.v_width()));
  const double stream = 2 * (4 * w.D + n * w.D + 4);  // both norms: the sum, its norm for products, the scale
  const double qk_norm = config.qk_norm ? 4 * (w.q + w.k) + 4 * 2 * heads : 0;
  return stream + qk_norm + n * (attended + w.merged) + 4 * heads + n * 3 * w.F;
}

// What the layer at work needs on top for a moment: gradients beside values.
double working_bytes(const model::ModelConfig& config, double n) {
  const Widths w(config);
  return n * 3 * (w.q + w.k + w.v) + 8 * (w.q + w.k) + 2 * (4 * w.D + n * w.D) + n * 4 * w.F;
}

}  // namespace

double gradient_bytes(const model::ModelConfig& model, const TrainConfig& config, std::int64_t rows) {
  const double n = config.precision == Precision::bf16 ? 2 : 4;
  const Widths w(model);
  const auto layers = static_cast<double>(model.num_layers), V = static_cast<double>(model.vocab_size);
  const double tokens = static_cast<double>(rows * config.seq_len);
  const double attention = w.D * (w.q + w.k + w.v + w.merged);
  const double weights = n * (layers * (attention + 3 * w.D * w.F) + (n == 4 ? 0 : V * w.D));
  const double head = 2 * 4 * V * w.D;  // the gradient of the output projection, before and after the loss's own
  const double kept = layers * (config.recompute ? (4 + n) * w.D : layer_bytes(model, n)) + 2 * (4 + n) * w.D;
  // The logits are gone when the layers are at work.
  const double logits = std::min(tokens, std::max(64.0, kLogitsPerChunk / V)) * V * (8 + n);
  const double layer = working_bytes(model, n) + (config.recompute ? layer_bytes(model, n) : 0);
  return weights + head + tokens * kept + std::max(logits, tokens * layer);
}

std::int64_t fitting_rows(const model::ModelConfig& model, const TrainConfig& config, std::int64_t most, double free,
                          int ranks) {
  const double none = gradient_bytes(model, config, 0);
  const double room = kUsableShare * free - training_bytes(model, ranks);
  std::int64_t rows = most;
  while (rows > 1 && gradient_bytes(model, config, rows) > room) {
    const double each = (gradient_bytes(model, config, rows) - none) / static_cast<double>(rows);
    rows = std::clamp<std::int64_t>(static_cast<std::int64_t>((room - none) / each), 1, rows - 1);
  }
  return even_piece(most, rows);
}

std::optional<std::uint64_t> free_device_memory(torch::Device device) {
  if (device.is_cpu()) return {};
  try {
    at::globalContext().lazyInitDevice(device.type());
    return c10::getDeviceAllocator(device.type())->getMemoryInfo(std::max<c10::DeviceIndex>(device.index(), 0)).first;
  } catch (const c10::Error&) {
    return {};
  }
}

std::int64_t choose_micro_batch(const TrainJob& job) {
  const std::int64_t rows = std::max<std::int64_t>(1, job.config.batch_size / job.ranks);
  const auto free = free_device_memory(torch::Device(job.config.device));
  if (!free) return std::clamp<std::int64_t>(kMicroBatchTokens / job.config.seq_len, 1, job.config.batch_size);
  return fitting_rows(job.model, job.config, rows, static_cast<double>(*free), job.ranks);
}

}  // namespace crope::train
