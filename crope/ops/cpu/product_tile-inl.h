// The tile of matrix products: what of a result is summed in registers at a time. Included once for each instruction
// set.
#if defined(CROPE_OPS_CPU_PRODUCT_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CROPE_OPS_CPU_PRODUCT_TILE_INL_H_
#undef CROPE_OPS_CPU_PRODUCT_TILE_INL_H_
#else
#define CROPE_OPS_CPU_PRODUCT_TILE_INL_H_
#endif

#include "crope/ops/cpu/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

// Sums of a tile stay in registers: 24 of 32 where there are vectors of 16 floats, 12 of 16 elsewhere.
constexpr int kTileRows = hn::MaxLanes(Floats()) >= 16 ? 12 : 6;
constexpr int kTileLanes = static_cast<int>(hn::MaxLanes(Floats()));
constexpr int kTileColumns = 2 * kTileLanes;

// Whether a part of a vector can be loaded and stored without touching what lies behind it.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
constexpr bool kHasMasks = true;
#else
constexpr bool kHasMasks = false;
#endif

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
