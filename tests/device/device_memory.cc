#include "tests/device/device_memory.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tests/device/test_device.h"

namespace crope::test {
namespace {

using torch::Tensor;

std::atomic<std::int64_t> in_use{0}, peak{0};

struct Block {
  explicit Block(std::size_t bytes) : size(bytes) {
    const std::int64_t now = in_use += static_cast<std::int64_t>(size);
    for (std::int64_t most = peak; now > most && !peak.compare_exchange_weak(most, now);) {
    }
    address = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    host = std::malloc(size);
    TORCH_CHECK(address != MAP_FAILED && host != nullptr, "the test device has no memory left");
    std::memset(host, 0xff, size);  // NaN in every floating-point type
  }
  ~Block() {
    in_use -= static_cast<std::int64_t>(size);
    munmap(address, size);
    std::free(host);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::size_t size;
  void* address;
  void* host;
};

void delete_block(void* block) {
  delete static_cast<Block*>(block);
}

class DeviceAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    auto block = std::make_unique<Block>(std::max<std::size_t>(bytes, 1));
    void* const address = block->address;
    return {address, block.release(), delete_block, test_device()};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override { return {}; }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {}
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex) override {
    return {kDeviceBytes - static_cast<std::size_t>(in_use.load()), kDeviceBytes};
  }
  void copy_data(void*, const void*, std::size_t) const override {
    TORCH_CHECK(false, "the test device copies tensors, not memory");
  }
};

}  // namespace

c10::Allocator& device_allocator() {
  static DeviceAllocator allocator;
  return allocator;
}

std::int64_t peak_bytes() {
  return peak;
}

std::int64_t bytes_in_use() {
  return in_use;
}

void restart_peak() {
  peak = in_use.load();
}

Tensor host_alias(const Tensor& x) {
  const auto* block = static_cast<const Block*>(x.storage().data_ptr().get_context());
  TORCH_CHECK(block != nullptr, "a tensor of the test device without its memory");
  auto* const data =
      static_cast<std::byte*>(block->host) + x.storage_offset() * static_cast<std::int64_t>(x.itemsize());
  Tensor alias = at::from_blob(data, x.sizes(), x.strides(), at::TensorOptions(at::kCPU).dtype(x.scalar_type()));
  // Views may be marked as conjugate or negative; kernels that know of it see to it themselves.
  if (x.is_complex()) alias._set_conj(x.is_conj());
  alias._set_neg(x.is_neg());
  return alias;
}

Tensor device_copy(const Tensor& x) {
  const Tensor result = at::detail::empty_strided_generic(
      x.sizes(), x.strides(), &device_allocator(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), x.scalar_type());
  host_alias(result).copy_(x);
  return result;
}

const void* memory_of(const Tensor& x) {
  return x.storage().data_ptr().get_context();
}

}  // namespace crope::test
