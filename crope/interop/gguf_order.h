// Matrices of whole blocks between our memory and GGUF files.
//
// A block is 32 neighbours of a row, so blocks survive only where columns keep their neighbours. The residual stream of
// a file may be in any order that all its tensors share: files with our blocks have it in halves, as memory does, and
// of files whose blocks we keep it is read as if it were. The channels of V and O stand in halves within each head
// there, and in memory over all heads.
#pragma once

#include <torch/types.h>

#include <optional>
#include <string>

#include "crope/formats/gguf.h"
#include "crope/interop/hf_layout.h"
#include "crope/model/config.h"
#include "crope/ops/kernels.h"

namespace crope::interop {

// The types whose blocks are the same in both.
std::optional<ops::WeightType> weight_type_of(formats::GgmlType type);

// Whether the columns of a matrix are the same in both orders.
bool keeps_columns(const HfName& name);

// Whether the columns keep their neighbours where blocks are moved as a whole.
bool keeps_blocks(const HfName& name, const model::ModelConfig& config);

// A dense tensor in halves, as the file has it: [rows, columns], [rows, blocks, bytes], or the gain of a norm.
torch::Tensor to_gguf_halves(const torch::Tensor& memory, const HfName& name, const model::ModelConfig& config);

// The inverse, for the dense models that files hold.
torch::Tensor from_gguf_halves(const torch::Tensor& theirs, const HfName& name, const model::ModelConfig& config);

}  // namespace crope::interop
