// Models with matrices of 8 or 4 bits a weight, for inference alone.
#pragma once

#include <torch/types.h>

#include <string_view>
#include <vector>

#include "crope/model/parameter_file.h"
#include "crope/model/transformer.h"

namespace crope::model {

// Second moments, mean x x^T, of what each matrix of a block is multiplied with on some text (infer/calibration.h). In
// halves, fp32.
struct InputMoments {
  torch::Tensor attention;     // [D, D], of Q, K and V
  torch::Tensor o;             // [H Kv, H Kv]
  torch::Tensor feed_forward;  // [D, D], of gate and up
  torch::Tensor down;          // [F, F]
};

// The value of a parameter, in halves, as a model of `type`, int8 or int4, has it. Embedding and output stay at 8 bits
// where the others have 4: every token is rounded by them. Gains stay as they are. Throws Error, starting with `origin`
// and naming the parameter, if it is not finite.
StoredValue quantised_value(const ParameterSpec& spec, const torch::Tensor& value, ops::WeightType type,
                            std::string_view origin);

// The model with its matrices rounded to `type`.
Transformer quantise(const Transformer& model, ops::WeightType type);

// The model in int4, its matrices rounded for inputs of these moments, one entry for each block (ops/error_feedback.h).
Transformer quantise_for(const Transformer& model, const std::vector<InputMoments>& moments);

// The type that a model's weights are in: int4 where any has 4 bits, int8 where they have 8.
ops::WeightType weight_type(const Transformer& model);

}  // namespace crope::model
