// The Python file that computes our models in transformers, made from the package in python/ at build time.
#pragma once

#include <string_view>

namespace crope::interop {

inline constexpr const char* kModellingFile = "modeling_crope.py";

// It holds the classes CRopeConfig and CRopeForCausalLM and imports torch and transformers alone.
std::string_view modelling_source();

}  // namespace crope::interop
