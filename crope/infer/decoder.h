// The forward pass over rows of many sequences at once.
//
// Everything but attention works on rows, whatever sequence they belong to. So one call takes the next tokens of any
// number of sequences, one token of a sequence that is being decoded, many of a prompt, and reads the weights once for
// all of them. Nothing is padded.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "crope/infer/kv_cache.h"
#include "crope/model/transformer.h"

namespace crope::infer {

// The tokens `ids` that follow what `cache` holds.
struct Chunk {
  KvCache* cache;
  std::span<const std::int32_t> ids;
  std::int64_t skip_outputs = 0;  // number of leading tokens that only go into the cache: their output is not needed
};

// The inputs of the matrices of a block: of Q, K and V; of O; of gate and up; of down.
enum class BlockInput { attention, o, feed_forward, down };

// Sees the rows [R, N], in halves, that come to a block's matrices.
using InputObserver = std::function<void(std::int64_t block, BlockInput input, const torch::Tensor& rows)>;

// A model on the CPU, whose weights are shared; sums are in fp32. Keeps working memory, which grows to the largest
// call. Used by one thread at a time; itself uses as many as ATen does.
class Decoder {
 public:
  // Up to this many rows a call reads the weights once for all of them, and a row gets the same bits whatever the
  // others are; beyond, matrix products take over. A choice, not yet a measurement.
  static constexpr std::int64_t kFewRows = 24;

  // Throws Error if the model is not on the CPU, or its weights are neither fp32 nor bf16 nor quantised.
  explicit Decoder(const model::Transformer& model);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  const model::ModelConfig& config() const;

  KvCache make_cache() const { return KvCache(cache_shape(config())); }

  // Adds the chunks to their caches, reserving room where there is none, and returns the last layer's output [R, D], a
  // row for each token whose output is not skipped, chunk after chunk. It is overwritten by the next call.
  // Throws Error if a chunk is empty, an id is outside the vocabulary, or a sequence becomes longer than max_seq_len.
  // REQUIRES: no cache is there twice, and skip_outputs <= ids.size().
  torch::Tensor append(std::span<const Chunk> chunks);

  // The observer of the rows of append(); none unless set.
  void observe(InputObserver observer);

  // Logits [n, V], dense, of these rows of append's result. Overwritten by the next call.
  torch::Tensor logits(std::span<const std::int64_t> rows);

  // Logits of many rows without holding all of them at once: on_panel(first, [n, m]) gets the logits of tokens
  // [first, first + m), m at most `columns`, from the first token to the last. REQUIRES: columns > 0.
  void for_logit_panels(std::span<const std::int64_t> rows, std::int64_t columns,
                        const std::function<void(std::int64_t, const torch::Tensor&)>& on_panel);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace crope::infer
