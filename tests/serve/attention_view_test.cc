#include "crope/serve/attention_view.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "crope/base/error.h"
#include "crope/ops/reference.h"
#include "tests/infer/small_model.h"

namespace crope::serve {
namespace {

using torch::Tensor;

AttentionRequest request_of(std::int64_t tokens, std::int64_t layer, std::int64_t head) {
  return {
      .ids = test::draw_ids(3, static_cast<std::size_t>(tokens)), .text_tokens = tokens, .layer = layer, .head = head};
}

// Queries, keys and values of all heads of a layer in fp64, by the reference operations: [H, T, K], and what comes out
// of the projections before that.
struct ReferenceHeads {
  Tensor q, k, v;  // normalised, rotated
  Tensor unrotated_q, unrotated_k;
};

ReferenceHeads reference_heads(const model::Transformer& model, const AttentionRequest& request) {
  const at::NoGradGuard no_grad;
  const Tensor ids = at::tensor(std::vector<std::int64_t>(request.ids.begin(), request.ids.end()), at::kLong);
  const Tensor positions = at::arange(ids.size(0), at::kLong);
  const model::ModelConfig& config = model.config;
  const auto wide = [](const Tensor& x) { return x.to(at::kDouble); };
  const auto map = [&](const Tensor& x, const ops::Weight& projection) {
    return at::matmul(x, wide(ops::dense_matrix(projection)).t());
  };
  const auto heads = [&](const Tensor& x) { return model::split_heads(x.unsqueeze(0), config.num_heads)[0]; };
  Tensor h = wide(model.embedding).index_select(0, ids);
  for (std::int64_t layer = 0;; ++layer) {
    const model::Block& block = model.blocks[static_cast<std::size_t>(layer)];
    const model::Attention& attention = block.attention;
    const Tensor x = ops::reference::rms_norm(h, wide(block.attention_norm), config.norm_eps);
    ReferenceHeads result;
    result.unrotated_q =
        ops::reference::rms_norm(heads(map(x, attention.qkv[0])), wide(attention.q_norm), config.norm_eps);
    result.unrotated_k =
        ops::reference::rms_norm(heads(map(x, attention.qkv[1])), wide(attention.k_norm), config.norm_eps);
    result.q = ops::reference::rope(result.unrotated_q, positions, config.rope_theta);
    result.k = ops::reference::rope(result.unrotated_k, positions, config.rope_theta);
    result.v = heads(map(x, attention.qkv[2]));
    if (layer == request.layer) return result;
    const double scale = 1.0 / std::sqrt(static_cast<double>(config.qk_width()));
    const Tensor mixed = ops::reference::attention(result.q.unsqueeze(0), result.k.unsqueeze(0), result.v.unsqueeze(0),
                                                   {.scale = scale});
    h = h + map(model::merge_heads(mixed)[0], attention.o);
    const Tensor y = ops::reference::rms_norm(h, wide(block.feed_forward_norm), config.norm_eps);
    h = h + map(ops::reference::swiglu(map(y, block.feed_forward.gate), map(y, block.feed_forward.up)),
                block.feed_forward.down);
  }
}

// [T, K] in halves to complex [T, K/2].
Tensor as_complex(const Tensor& x) {
  const std::int64_t half = x.size(-1) / 2;
  return at::complex(x.narrow(-1, 0, half).contiguous(), x.narrow(-1, half, half).contiguous());
}

TEST(AttentionView, IsTheReferenceComposition) {
  for (const model::VariantTraits& row : model::kVariants) {
    const model::Transformer model = test::small_model(row.variant);
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      for (std::int64_t head = 0; head < 2; ++head) {
        const std::string what = fmt::format("{} layer {} head {}", row.name, layer, head);
        const AttentionRequest request = request_of(17, layer, head);
        const AttentionView view = attention_view(model, request);
        const ReferenceHeads heads = reference_heads(model, request);
        const double scale = 1.0 / std::sqrt(static_cast<double>(model.config.qk_width()));
        const Tensor scores = at::matmul(heads.q[head], heads.k[head].t()) * scale;
        const Tensor hidden = at::ones({17, 17}, at::kBool).triu(1);
        test::expect_close(view.scores, scores.tril(), 1e-5, what);
        test::expect_close(view.weights, at::softmax(scores.masked_fill(hidden, -INFINITY), -1), 1e-5, what);
        ASSERT_EQ(view.phase.defined(), row.ties_qk) << what;
        if (!row.ties_qk) continue;
        const Tensor z = at::matmul(as_complex(heads.q[head]).conj(), as_complex(heads.k[head]).t()) * scale;
        test::expect_close(view.magnitude, at::abs(z).tril(), 1e-5, what);
        // As points of the circle: -pi and pi are one phase.
        const Tensor content =
            at::matmul(as_complex(heads.unrotated_q[head]).conj(), as_complex(heads.unrotated_k[head]).t()) * scale;
        test::expect_close(view.content_magnitude, at::abs(content).tril(), 1e-5, what);
        test::expect_close(view.phase.cos().tril(), at::cos(at::angle(z)).tril(), 1e-4, what);
        test::expect_close(view.phase.sin().tril(), at::sin(at::angle(z)).tril(), 1e-4, what);
        test::expect_close(view.content_phase.cos().tril(), at::cos(at::angle(content)).tril(), 1e-4, what);
        test::expect_close(view.content_phase.sin().tril(), at::sin(at::angle(content)).tril(), 1e-4, what);
      }
    }
  }
}

// The heads' weights, applied to the values, are what the model's attention gives.
TEST(AttentionView, TheWeightsAreTheModelsOwn) {
  for (const model::VariantTraits& row : model::kVariants) {
    const model::Transformer model = test::small_model(row.variant);
    const AttentionRequest request = request_of(24, 1, 0);
    const Tensor ids = at::tensor(std::vector<std::int64_t>(request.ids.begin(), request.ids.end()), at::kLong);
    const model::LayerInput input = model::layer_input(model, ids.unsqueeze(0), 1);
    const Tensor v = model::split_heads(ops::project(input.x, input.block.attention.qkv[2]), 2);
    std::vector<Tensor> mixed;
    for (std::int64_t head = 0; head < 2; ++head) {
      const AttentionView view = attention_view(model, {.ids = request.ids, .layer = 1, .head = head});
      mixed.push_back(at::matmul(view.weights, v[0][head]));
    }
    const Tensor out = ops::project(model::merge_heads(at::stack(mixed).unsqueeze(0)), input.block.attention.o);
    test::expect_close(out, model::forward(input.block.attention, input.x, input.positions), 1e-5,
                       std::string(row.name));
  }
}

TEST(AttentionView, RowsSumToOneAndSeeNothingAhead) {
  for (const std::int64_t T : {1, 2, 24}) {
    const AttentionView view = attention_view(test::small_model(model::Variant::crope_all), request_of(T, 1, 1));
    for (const Tensor& x :
         {view.weights, view.scores, view.magnitude, view.phase, view.content_magnitude, view.content_phase}) {
      ASSERT_EQ(x.sizes(), (at::IntArrayRef{T, T}));
      EXPECT_EQ(x.triu(1).abs().sum().item<float>(), 0);
    }
    EXPECT_LT((view.weights.sum(-1) - 1).abs().max().item<float>(), 1e-5);
    EXPECT_GE(view.weights.min().item<float>(), 0);
    EXPECT_LE(view.phase.abs().max().item<float>(), std::numbers::pi + 1e-6);
    test::expect_close(view.magnitude * view.phase.cos(), view.scores, 1e-5);
  }
}

// A causal model sees the beginning of a text as it sees it in the whole.
TEST(AttentionView, TheBeginningDoesNotDependOnTheRest) {
  const model::Transformer model = test::small_model(model::Variant::crope_qk);
  const AttentionView whole = attention_view(model, request_of(24, 1, 0));
  const AttentionView part = attention_view(model, request_of(9, 1, 0));
  test::expect_close(whole.weights.narrow(0, 0, 9).narrow(1, 0, 9), part.weights, 1e-5);
}

// One token has no distance to itself: positions add nothing on the diagonal.
TEST(AttentionView, PositionsAddNoPhaseOnTheDiagonal) {
  const AttentionView view = attention_view(test::small_model(model::Variant::crope_qkv), request_of(20, 0, 1));
  const Tensor difference = (view.phase - view.content_phase).diagonal();
  test::expect_close(difference.cos(), at::ones({20}), 1e-5);
}

TEST(AttentionView, TakesWeightsInBf16) {
  const model::Transformer model = test::small_model(model::Variant::crope_all);
  const AttentionRequest request = request_of(15, 1, 1);
  const AttentionView narrow = attention_view(test::rounded_model(model, at::kBFloat16), request);
  EXPECT_TRUE(at::equal(narrow.weights, attention_view(test::rounded_model(model, at::kFloat), request).weights));
}

text::Tokenizer byte_tokenizer() {
  text::Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) vocabulary.tokens.push_back(std::string(1, static_cast<char>(byte)));
  return text::Tokenizer(std::move(vocabulary));
}

TEST(AttentionRequest, ReadsTextAndIds) {
  const model::ModelConfig config{.vocab_size = 300, .max_seq_len = 5};
  const text::Tokenizer tokenizer = byte_tokenizer();
  const AttentionRequest text = attention_request({{"text", "abc"}, {"layer", 1}, {"head", 2}}, config, &tokenizer);
  EXPECT_EQ(text.ids, tokenizer.encode("abc"));
  EXPECT_EQ(text.layer, 1);
  EXPECT_EQ(text.head, 2);
  const AttentionRequest cut =
      attention_request({{"ids", {1, 2, 3, 4, 5, 6, 7}}, {"layer", 0}, {"head", 0}}, config, nullptr);
  EXPECT_EQ(cut.ids, (std::vector<std::int32_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(cut.text_tokens, 7);
}

TEST(AttentionRequest, RefusesWhatMakesNoSense) {
  const model::ModelConfig config{.vocab_size = 300, .num_layers = 2, .num_heads = 2};
  const text::Tokenizer tokenizer = byte_tokenizer();
  for (const char* body : {"[]",
                           "null",
                           "\"text\"",
                           "{}",
                           R"({"text":"a"})",
                           R"({"text":"a","layer":0})",
                           R"({"text":"a","layer":"0","head":0})",
                           R"({"text":"a","layer":2,"head":0})",
                           R"({"text":"a","layer":0,"head":-1})",
                           R"({"text":"a","layer":0.5,"head":0})",
                           R"({"text":"a","layer":18446744073709551615,"head":0})",
                           R"({"text":"a","layer":1e300,"head":0})",
                           R"({"text":"","layer":0,"head":0})",
                           R"({"text":7,"layer":0,"head":0})",
                           R"({"text":"a","ids":[1],"layer":0,"head":0})",
                           R"({"layer":0,"head":0})",
                           R"({"ids":[],"layer":0,"head":0})",
                           R"({"ids":[300],"layer":0,"head":0})",
                           R"({"ids":[-1],"layer":0,"head":0})",
                           R"({"ids":[1.5],"layer":0,"head":0})",
                           R"({"ids":["1"],"layer":0,"head":0})",
                           R"({"ids":{"a":1},"layer":0,"head":0})",
                           R"({"ids":[18446744073709551615],"layer":0,"head":0})"}) {
    EXPECT_THROW(attention_request(parse_json(body, "body"), config, &tokenizer), UsageError) << body;
  }
  EXPECT_THROW(attention_request({{"text", "a"}, {"layer", 0}, {"head", 0}}, config, nullptr), UsageError);
}

TEST(AttentionJson, HasTheVisiblePartOfEveryRow) {
  const model::Transformer model = test::small_model(model::Variant::crope_all);
  const AttentionRequest request = request_of(4, 0, 1);
  const AttentionView view = attention_view(model, request);
  const Json json = attention_json(view, request, nullptr);
  EXPECT_FALSE(json.contains("tokens"));
  EXPECT_EQ(json["complex"], true);
  EXPECT_EQ(json["ids"].size(), 4);
  for (const char* key : {"weights", "scores", "magnitude", "phase", "content_magnitude", "content_phase"}) {
    ASSERT_EQ(json[key].size(), 4) << key;
    for (std::size_t m = 0; m < 4; ++m) EXPECT_EQ(json[key][m].size(), m + 1) << key;
  }
  EXPECT_NEAR(json["weights"][3][1].get<double>(), view.weights[3][1].item<double>(), 1e-5);
  EXPECT_EQ(json["weights"][0][0], 1.0);
  const Json dense = attention_json(attention_view(test::small_model(model::Variant::rope), request), request, nullptr);
  EXPECT_EQ(dense["complex"], false);
  EXPECT_FALSE(dense.contains("phase"));
}

// A token may be a part of a character.
TEST(AttentionJson, TokensAreValidText) {
  const text::Tokenizer tokenizer = byte_tokenizer();
  AttentionRequest request{.ids = tokenizer.encode("a\xC3\xA9")};
  AttentionView view;
  view.weights = view.scores = at::zeros({3, 3});
  const Json json = attention_json(view, request, &tokenizer);
  EXPECT_EQ(json["tokens"].dump(), R"(["a","bytes:\\xc3","bytes:\\xa9"])");
}

}  // namespace
}  // namespace crope::serve
