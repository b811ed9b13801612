#include "crope/infer/packed_weights.h"

#include <ATen/ATen.h>
#ifdef __linux__
#include <malloc.h>
#endif
#include <sys/mman.h>

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace crope::infer {
namespace {

constexpr std::size_t kAlignment = 256;  // bytes, of every tensor
constexpr std::size_t kFreedAtOnce = std::size_t{64} << 20;

std::size_t room_for(const at::Tensor& value) {
  return (value.nbytes() + kAlignment - 1) / kAlignment * kAlignment;
}

// Memory of the system's own, given back when the last holder lets go.
std::shared_ptr<std::byte> map_block(std::size_t bytes) {
  void* block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  ::madvise(block, bytes, MADV_HUGEPAGE);
#endif
  return {static_cast<std::byte*>(block), [bytes](std::byte* memory) { ::munmap(memory, bytes); }};
}

// What was freed goes back to the system. The allocator would keep it for later, and the model be there twice.
void return_freed_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace

model::Transformer pack_weights(model::Transformer model) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> values;
  std::size_t bytes = 0;
  for (model::Parameter& parameter : model.parameters) {
    bytes += room_for(parameter.value);
    values.push_back(std::move(parameter.value));
  }
  const model::ModelConfig config = model.config;
  model = {};  // `values` alone hold on to the originals now
  const std::shared_ptr<std::byte> block = map_block(bytes);
  std::size_t offset = 0, freed = 0;
  for (at::Tensor& value : values) {
    const std::size_t room = room_for(value);
    at::Tensor packed = at::from_blob(
        block.get() + offset, value.sizes(), [block](void*) {}, value.options().requires_grad(false));
    packed.copy_(value.detach());
    value = std::move(packed);
    offset += room;
    freed += room;
    if (freed >= kFreedAtOnce || offset == bytes) {
      return_freed_memory();
      freed = 0;
    }
  }
  return model::make_transformer(config, values);
}

}  // namespace crope::infer
