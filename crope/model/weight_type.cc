#include "crope/model/weight_type.h"

#include "crope/base/error.h"

namespace crope::model {

ops::WeightType recorded_weight_type(const Json& config, std::string_view origin) {
  if (!config.is_object() || !config.contains(kWeightsKey)) return ops::WeightType::fp32;
  try {
    return setting_value<Choice<ops::WeightType>>(config.at(kWeightsKey), kWeightsKey, origin);
  } catch (const UsageError& e) {
    throw Error(e.what(), e.hint());
  }
}

}  // namespace crope::model
