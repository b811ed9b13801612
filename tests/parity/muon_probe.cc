// Runs our Muon on recorded gradients, for tests/parity/test_muon.py.
//
//   muon_probe IN OUT ADJUSTMENT ITERATION_TYPE
//
// IN has "<matrix>.start" and "<matrix>.grad.<step>"; OUT gets "<matrix>" after the last step.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <map>

#include "crope/base/error.h"
#include "crope/model/tensor_file.h"
#include "crope/optim/muon.h"

namespace {

using namespace crope;

constexpr double kLr = 0.02;

void run(const std::string& in, const std::string& out, const std::string& adjustment, const std::string& type) {
  const auto file = formats::SafetensorsFile::open(in);
  std::map<std::string, torch::Tensor> matrices;
  for (const auto& tensor : file.tensors()) {
    if (!tensor.name.ends_with(".start")) continue;
    const std::string name = tensor.name.substr(0, tensor.name.find('.'));
    matrices[name] = model::view_tensor(file, tensor).clone().requires_grad_();
  }
  std::vector<optim::MuonMatrix> list;
  for (const auto& [name, value] : matrices) list.push_back({.parts = {value}});
  optim::Muon muon(list, {.lr_adjustment = adjustment == "original" ? optim::LrAdjustment::original
                                                                    : optim::LrAdjustment::match_rms_adamw,
                          .iteration_type = type == "bf16" ? torch::kBFloat16 : torch::kFloat32});
  for (int step = 0; file.find(fmt::format("{}.grad.{}", matrices.begin()->first, step)) != nullptr; ++step) {
    for (auto& [name, value] : matrices) {
      value.mutable_grad() = model::view_tensor(file, fmt::format("{}.grad.{}", name, step));
    }
    muon.step(kLr);
  }
  std::vector<formats::TensorSource> sources;
  for (const auto& [name, value] : matrices) sources.push_back(model::tensor_source(name, value.detach()));
  formats::write_safetensors(out, std::move(sources));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    run(argv[1], argv[2], argv[3], argv[4]);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
}
