// Files of weights above the Torch line, on mutants of files that they take.
#include <gtest/gtest.h>

#include <array>

#include "crope/base/file.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "crope/model/quantise.h"
#include "tests/fuzz/mutation.h"

namespace crope {
namespace {

TEST(Fuzz, QuantisedWeights) {
  const model::ModelConfig config{.vocab_size = 5,
                                  .num_layers = 1,
                                  .num_heads = 1,
                                  .d_model = 8,
                                  .d_ff = 6,
                                  .max_seq_len = 4,
                                  .variant = model::Variant::crope_qk};
  const test::TemporaryFolder folder;
  model::save_model(model::quantise(model::make_random_transformer(config), ops::WeightType::int4), folder / "m");
  constexpr std::array<std::string_view, 12> kWords = {
      "U8", "F32", "BF16", "shape", "34", "18", "20", "17", "data_offsets", "embedding.weight", "[", ","};
  test::fuzz_file("model.safetensors", read_file(folder / "m/model.safetensors"), kWords,
                  [&](const std::filesystem::path& path) {
                    const model::ParameterFile file(path.parent_path(), model::parameter_specs(config));
                    for (const model::ParameterSpec& spec : file.specs()) {
                      const model::StoredValue value = file.read_stored(spec);
                      if (const auto* matrix = std::get_if<ops::QuantisedMatrix>(&value)) {
                        ASSERT_TRUE(at::isfinite(ops::widened(*matrix)).all().item<bool>());
                      }
                    }
                  });
}

}  // namespace
}  // namespace crope
