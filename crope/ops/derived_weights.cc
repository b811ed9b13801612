#include "crope/ops/derived_weights.h"

#include <ATen/ATen.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace crope::ops {

using torch::Tensor;

class DerivedWeightStore {
 public:
  explicit DerivedWeightStore(std::span<const Tensor> weights) {
    for (const Tensor& weight : weights) {
      if (weight.defined()) storages_.insert(weight.storage().unsafeGetStorageImpl());
    }
  }

  Tensor get(const char* kind, const std::vector<Tensor>& sources, torch::ScalarType type,
             const std::function<Tensor()>& make) {
    Key key{kind, type, {}};
    for (const Tensor& source : sources) {
      const auto* storage = source.storage().unsafeGetStorageImpl();
      if (!storages_.contains(storage)) return make();
      std::get<2>(key).push_back({storage, source.storage_offset()});
    }
    const std::lock_guard lock(mutex_);
    auto found = kept_.find(key);
    if (found == kept_.end()) found = kept_.emplace(std::move(key), make()).first;
    return found->second;
  }

 private:
  using Place = std::pair<const c10::StorageImpl*, std::int64_t>;
  using Key = std::tuple<std::string, torch::ScalarType, std::vector<Place>>;

  std::set<const c10::StorageImpl*> storages_;
  std::mutex mutex_;
  std::map<Key, Tensor> kept_;
};

namespace {

thread_local std::shared_ptr<DerivedWeightStore> active;

}  // namespace

DerivedWeightScope::DerivedWeightScope(std::span<const Tensor> weights)
    : DerivedWeightScope(std::make_shared<DerivedWeightStore>(weights)) {}

DerivedWeightScope::DerivedWeightScope(std::shared_ptr<DerivedWeightStore> store)
    : before_(std::exchange(active, std::move(store))) {}

DerivedWeightScope::~DerivedWeightScope() {
  active = std::move(before_);
}

std::shared_ptr<DerivedWeightStore> current_derived_weights() {
  return active;
}

Tensor derived_weight(const char* kind, const std::vector<Tensor>& sources, torch::ScalarType type,
                      const std::function<Tensor()>& make) {
  const at::NoGradGuard no_grad;
  return active ? active->get(kind, sources, type, make) : make();
}

Tensor derived_cast(const Tensor& weight, torch::ScalarType type) {
  if (weight.scalar_type() == type) return weight.detach();
  return derived_weight("cast", {weight}, type, [&] { return weight.detach().to(type); });
}

}  // namespace crope::ops
