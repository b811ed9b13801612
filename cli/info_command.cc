// crope info: what a model directory holds.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "crope/base/progress.h"
#include "crope/formats/safetensors.h"
#include "crope/model/cost.h"
#include "crope/model/model_dir.h"
#include "crope/model/weight_type.h"
#include "crope/text/tokenizer.h"

namespace crope::cli {
namespace {

Json describe(const std::filesystem::path& path) {
  const std::filesystem::path dir = model::resolve_model_dir(path);
  const model::ModelConfig config = model::load_config(dir);
  const auto file = formats::SafetensorsFile::open(dir / model::kWeightsFile);
  const ops::WeightType weights = model::load_weight_type(dir);
  const model::ParameterCounts counts = model::count_parameters(config);
  const model::Cost cost = model::cost_per_token(config, config.max_seq_len);
  return {{"directory", dir.string()},
          {"config", model::config_to_json(config)},
          {"parameters",
           {{"embedding", counts.embedding},
            {"attention", counts.attention},
            {"feed_forward", counts.feed_forward},
            {"norm", counts.norm},
            {"total", counts.total()},
            {"attention_saving", model::attention_saving(config)}}},
          {"weights", Choice(weights).name()},
          {"tensors", file.tensors().size()},
          {"type", file.tensors().empty() ? "" : formats::element_name(file.tensors().front().type)},
          {"bytes", file.mapping()->bytes().size()},
          {"forward_flops_per_token", cost.forward_flops},
          {"training_flops_per_token", cost.training_flops},
          {"weight_bytes_per_token", model::weight_bytes(config, weights)},
          {"cache_bytes_per_token", cost.cache_bytes},
          {"tokenizer", std::filesystem::exists(dir / text::kTokenizerFile)}};
}

// Numbers of the configuration are printed in full, measures in short.
void print_section(const Json& object, const std::string& indent, bool exact) {
  const std::size_t width = indent.size() < 27 ? 28 - indent.size() : 1;
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      fmt::print("{}{}\n", indent, key);
      print_section(value, indent + "  ", exact || key == "config");
    } else if (!exact && (value.is_number_integer() || (value.is_number_float() && value.get<double>() >= 1000))) {
      fmt::print("{}{:<{}}{}\n", indent, key, width, format_count(value.get<double>()));
    } else {
      fmt::print("{}{:<{}}{}\n", indent, key, width, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
}

void declare_info(Flags& flags) {
  const auto dir = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  flags.positional("dir", *dir, "A model or run directory");
  flags.option("--json", *json, "Print one JSON object instead of text");
  flags.run([dir, json] {
    const Json info = describe(*dir);
    *json ? fmt::print("{}\n", info.dump(2)) : print_section(info, "", /*exact=*/false);
  });
}

}  // namespace

const Command kInfoCommand = {"info", "Describe a model: shape, parameters, cost, files", "crope info out/model",
                              declare_info};

}  // namespace crope::cli
