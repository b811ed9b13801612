#include "crope/interop/upcycle.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/interop/head_product.h"
#include "crope/interop/residual_pairing.h"
#include "crope/interop/residual_rotation.h"
#include "crope/model/language_model.h"
#include "crope/model/model_dir.h"
#include "crope/ops/annealed_weight.h"

namespace crope::interop {
namespace fs = std::filesystem;
namespace {

using model::Transformer;
using model::VariantTraits;
using ops::ComplexWeight;
using torch::Tensor;

void check_variants(const model::ModelConfig& config, const VariantTraits& to) {
  if (config.variant != model::Variant::rope) {
    throw UsageError(fmt::format("the model is of the variant {}, expected rope: only dense projections can be tied",
                                 model::traits(config.variant).name));
  }
  if (to.halves_qk) {
    throw UsageError(fmt::format("a dense model cannot become {}: its heads are half as wide, and there is no rule for "
                                 "which half of the channels, each with its own frequency, to drop",
                                 to.name),
                     "crope_qk, crope_qkv and crope_all keep the shape; a narrow model is trained from the start");
  }
  if (!to.ties_qk)
    throw UsageError("the model is of the variant rope already", "give crope_qk, crope_qkv or crope_all");
}

Tensor in_fp64(const ops::Weight& projection) {
  return ops::dense_matrix(projection).detach().to(torch::kFloat64);
}

double squared_size(const Tensor& x) {
  return x.square().sum().item<double>();
}

double kept_share(double lost, double total) {
  return total > 0 ? 1 - lost / total : 1;
}

double kept_of(const Tensor& dense, const ComplexWeight& tied) {
  return kept_share(squared_size(dense - ops::expand(tied)), squared_size(dense));
}

// Channels of head h of a width H K in halves: K/2 real parts, then K/2 imaginary ones.
Tensor head_channels(const Tensor& x, int dimension, int64_t head, int64_t heads) {
  const int64_t half = x.size(dimension) / 2, width = half / heads;
  return at::cat({x.narrow(dimension, head * width, width), x.narrow(dimension, half + head * width, width)},
                 dimension);
}

// All heads' channels side by side, back in halves.
Tensor join_channels(const std::vector<Tensor>& heads, int dimension) {
  std::vector<Tensor> parts;
  for (const int64_t half : {0, 1}) {
    for (const Tensor& head : heads) parts.push_back(head.chunk(2, dimension)[static_cast<std::size_t>(half)]);
  }
  return at::cat(parts, dimension);
}

// The four projections of one layer on their way.
struct LayerProjections {
  Tensor q, k, v, o;  // dense, fp64, halves
  ComplexWeight tied_q, tied_k, tied_v, tied_o;
};

void tie_plainly(LayerProjections& layer, const VariantTraits& to, KeptEnergy& kept) {
  layer.tied_v = ops::contract(layer.v);
  layer.tied_o = ops::contract(layer.o);
  kept.v = to.ties_v ? kept_of(layer.v, layer.tied_v) : 1;
  kept.o = to.ties_o ? kept_of(layer.o, layer.tied_o) : 1;
}

// Heads of O and of V; each head of V is read by heads / values heads of O.
struct HeadCounts {
  int64_t heads, values;

  int64_t group() const { return heads / values; }
};

// The output heads that read head g of V, one below the other: [group D, K], rows again in halves.
Tensor stacked_outputs(const Tensor& o, int64_t g, HeadCounts counts) {
  std::vector<Tensor> outputs;
  for (int64_t i = 0; i < counts.group(); ++i) {
    outputs.push_back(head_channels(o, 1, g * counts.group() + i, counts.heads));
  }
  return join_channels(outputs, 0);
}

// What counts is the product of a head of V with all outputs that read it: it is fitted as a whole.
void tie_products(LayerProjections& layer, const VariantTraits& to, HeadCounts counts) {
  std::vector<Tensor> v_a, v_b, o_a, o_b, o_dense;
  for (int64_t g = 0; g < counts.values; ++g) {
    const HeadProduct head{head_channels(layer.v, 0, g, counts.values), stacked_outputs(layer.o, g, counts)};
    ComplexWeight v;
    if (to.ties_o) {
      TiedHead tied = nearest_tied_head(head);
      v = tied.v;
      for (const Tensor& each : tied.o.a.chunk(counts.group(), 0)) o_a.push_back(each);
      for (const Tensor& each : tied.o.b.chunk(counts.group(), 0)) o_b.push_back(each);
    } else {
      TiedValueHead tied = nearest_tied_value_head(head);
      v = tied.v;
      for (int64_t i = 0; i < counts.group(); ++i) o_dense.push_back(head_channels(tied.o, 0, i, counts.group()));
    }
    v_a.push_back(v.a);
    v_b.push_back(v.b);
  }
  layer.tied_v = {at::cat(v_a, 0), at::cat(v_b, 0)};
  if (to.ties_o) {
    layer.tied_o = {at::cat(o_a, 1), at::cat(o_b, 1)};
  } else {
    layer.o = join_channels(o_dense, 1);
  }
}

// The orthogonal matrix nearest to x.
Tensor nearest_orthogonal(const Tensor& x) {
  const auto [left, values, right] = at::linalg_svd(x);
  return left.mm(right);
}

// V and O of each head in other channels: V' = M V, O' = O M^T computes the same for any orthogonal M. Takes the M that
// brings the two nearest to the head's nearest tied pair.
void turn_value_channels(LayerProjections& layer, const VariantTraits& to, HeadCounts counts) {
  std::vector<Tensor> values, outputs;
  for (int64_t g = 0; g < counts.values; ++g) {
    const HeadProduct head{head_channels(layer.v, 0, g, counts.values), stacked_outputs(layer.o, g, counts)};
    const auto turn_towards = [&](const Tensor& v, const Tensor& o) {
      const Tensor M = nearest_orthogonal(v.mm(head.v.t()) + o.t().mm(head.o));
      values.push_back(M.mm(head.v));
      const Tensor turned = head.o.mm(M.t());
      for (int64_t i = 0; i < counts.group(); ++i) outputs.push_back(head_channels(turned, 0, i, counts.group()));
    };
    if (to.ties_o) {
      const TiedHead tied = nearest_tied_head(head);
      turn_towards(ops::expand(tied.v), ops::expand(tied.o));
    } else {
      const TiedValueHead tied = nearest_tied_value_head(head);
      turn_towards(ops::expand(tied.v), tied.o);
    }
  }
  layer.v = join_channels(values, 0);
  layer.o = join_channels(outputs, 1);
}

// Of the products of all heads.
double kept_products(const Tensor& v, const Tensor& o, const Tensor& new_v, const Tensor& new_o, HeadCounts counts) {
  double lost = 0, total = 0;
  for (int64_t g = 0; g < counts.values; ++g) {
    const Tensor before = stacked_outputs(o, g, counts).mm(head_channels(v, 0, g, counts.values));
    const Tensor after = stacked_outputs(new_o, g, counts).mm(head_channels(new_v, 0, g, counts.values));
    lost += squared_size(before - after);
    total += squared_size(before);
  }
  return kept_share(lost, total);
}

KeptEnergy tie_layer(LayerProjections& layer, const VariantTraits& to, UpcycleMethod method, HeadCounts counts) {
  KeptEnergy kept{};
  layer.tied_q = ops::contract(layer.q);
  layer.tied_k = ops::contract(layer.k);
  kept.q = kept_of(layer.q, layer.tied_q);
  kept.k = kept_of(layer.k, layer.tied_k);
  const Tensor v = layer.v, o = layer.o;
  if (to.ties_v && method == UpcycleMethod::annealed) turn_value_channels(layer, to, counts);
  if (to.ties_v && method == UpcycleMethod::fitted) {
    tie_products(layer, to, counts);
  } else {
    tie_plainly(layer, to, kept);
  }
  kept.vo = kept_products(v, o, to.ties_v ? ops::expand(layer.tied_v) : v,
                          to.ties_o ? ops::expand(layer.tied_o) : layer.o, counts);
  return kept;
}

// The value of a parameter of the new model, from the layer's projections.
Tensor projection_value(const std::string& name, const LayerProjections& layer) {
  const auto pick = [&](std::string_view infix, const Tensor& dense, const ComplexWeight& tied) -> Tensor {
    if (name.find(infix) == std::string::npos) return {};
    if (name.ends_with(".weight")) return dense;
    if (name.ends_with(".conjugate_a")) return ops::split(dense).conjugate.a;
    if (name.ends_with(".conjugate_b")) return ops::split(dense).conjugate.b;
    return name.ends_with(".a") ? tied.a : tied.b;
  };
  for (const Tensor& value :
       {pick(".attention.q.", layer.q, layer.tied_q), pick(".attention.k.", layer.k, layer.tied_k),
        pick(".attention.v.", layer.v, layer.tied_v), pick(".attention.o.", layer.o, layer.tied_o)}) {
    if (value.defined()) return value.to(torch::kFloat32).contiguous();
  }
  return {};
}

Transformer pair_anew(const Transformer& dense) {
  std::vector<Tensor> matrices;
  for (const model::Block& block : dense.blocks) {
    matrices.push_back(in_fp64(block.attention.qkv[0]));
    matrices.push_back(in_fp64(block.attention.qkv[1]));
  }
  return reorder_residual(dense, pair_for(matrices));
}

Transformer in_structure(const Transformer& dense, StreamStructure structure) {
  if (structure == StreamStructure::pairs) return pair_anew(dense);
  if (structure == StreamStructure::J) return rotate_residual(dense, best_rotation(rows_with_gains(dense)));
  return dense;
}

}  // namespace

StreamStructure usual_structure(UpcycleMethod method) {
  return method == UpcycleMethod::plain ? StreamStructure::given : StreamStructure::pairs;
}

UpcycledModel upcycle(const Transformer& original, model::Variant variant, UpcycleMethod method,
                      std::optional<StreamStructure> structure) {
  const at::NoGradGuard no_grad;
  const VariantTraits& to = model::traits(variant);
  check_variants(original.config, to);
  const Transformer dense = in_structure(original, structure.value_or(usual_structure(method)));
  UpcycledModel result;
  std::vector<LayerProjections> layers;
  for (std::size_t i = 0; i < dense.blocks.size(); ++i) {
    const model::Attention& attention = dense.blocks[i].attention;
    LayerProjections layer{.q = in_fp64(attention.qkv[0]),
                           .k = in_fp64(attention.qkv[1]),
                           .v = in_fp64(attention.qkv[2]),
                           .o = in_fp64(attention.o)};
    result.kept.push_back(tie_layer(layer, to, method, {dense.config.num_heads, dense.config.kv_heads()}));
    result.kept.back().layer = static_cast<std::int64_t>(i);
    layers.push_back(std::move(layer));
  }

  model::ModelConfig config = dense.config;
  config.variant = variant;
  if (method == UpcycleMethod::annealed) config.conjugate_scale = 1;
  std::size_t next = 0;
  std::vector<Tensor> values;
  for (const model::ParameterSpec& spec : model::parameter_specs(config)) {
    constexpr std::string_view kBlocks = "blocks.";
    Tensor value;
    if (spec.component == model::Component::attention) {
      value = projection_value(spec.name, layers[std::stoul(spec.name.substr(kBlocks.size()))]);
    } else {
      // Everything else has the same names in both, in the same order.
      while (dense.parameters[next].spec.name != spec.name) ++next;
      value = dense.parameters[next].value.detach();
    }
    values.push_back(std::move(value));
  }
  result.model = model::make_transformer(config, values);
  return result;
}

std::vector<KeptEnergy> upcycle_directory(const fs::path& model_dir, const fs::path& out, model::Variant variant,
                                          UpcycleMethod method, Log& log, std::optional<StreamStructure> structure) {
  const fs::path source = model::resolve_model_dir(model_dir);
  AtomicDirectory directory(out);
  const UpcycledModel upcycled = upcycle(model::load_model(source, log), variant, method, structure);
  model::save_model_files(upcycled.model, directory.working_path());
  model::copy_text_files(source, directory.working_path());
  directory.commit();
  return upcycled.kept;
}

}  // namespace crope::interop
