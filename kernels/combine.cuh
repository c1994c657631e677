// The states of folds in a thread's own words: what merge_state does, by one thread alone. The
// words are a template's, so that they are registers.
#ifndef MPGA_KERNELS_COMBINE_CUH
#define MPGA_KERNELS_COMBINE_CUH

#include "state.cuh"

__device__ __forceinline__ void combine_double(u64* w, double d) { *w = to_word(to_double(*w) + d); }

// Of moments: when one of both has no values, w becomes the other.
template <u32 kWords>
__device__ __forceinline__ bool combine_trivial(u64* w, const u64* v) {
  if (w[0] != 0) return v[0] == 0;
#pragma unroll
  for (u32 i = 0; i < kWords; i++) w[i] = v[i];
  return true;
}

template <u32 kWords>
__device__ inline void combine_moments(u64* w, const u64* v) {
  if (combine_trivial<kWords>(w, v)) return;
  const double n = double(v[0]), d = to_double(v[1]) - to_double(w[1]);
  const double s1 = to_double(v[2]), s2 = to_double(v[3]);
  w[0] += v[0];
  combine_double(w + 2, s1 + n * d);
  combine_double(w + 3, s2 + 2 * d * s1 + n * d * d);
  if constexpr (kWords == 6) {
    const double s3 = to_double(v[4]), s4 = to_double(v[5]);
    combine_double(w + 4, s3 + 3 * d * s2 + 3 * d * d * s1 + n * d * d * d);
    combine_double(w + 5, s4 + 4 * d * s3 + 6 * d * d * s2 + 4 * d * d * d * s1 + n * d * d * d * d);
  }
}

__device__ inline void combine_comoments(u64* w, const u64* v) {
  if (combine_trivial<8>(w, v)) return;
  const double n = double(v[0]);
  const double ex = to_double(v[1]) - to_double(w[1]), ey = to_double(v[2]) - to_double(w[2]);
  const double sx = to_double(v[3]), sy = to_double(v[4]);
  w[0] += v[0];
  combine_double(w + 3, sx + n * ex);
  combine_double(w + 4, sy + n * ey);
  combine_double(w + 5, to_double(v[5]) + 2 * ex * sx + n * ex * ex);
  combine_double(w + 6, to_double(v[6]) + 2 * ey * sy + n * ey * ey);
  combine_double(w + 7, to_double(v[7]) + ex * sy + ey * sx + n * ex * ey);
}

// Of the best values: offers each of v to the words of w.
template <u32 kWords>
__device__ inline void combine_best(u64* w, const u64* v) {
  w[0] += v[0];
#pragma unroll
  for (u32 i = 1; i < kWords; i++) {
    u64 offer = v[i];
#pragma unroll
    for (u32 j = 1; j < kWords; j++) {
      const u64 was = w[j];
      w[j] = was > offer ? was : offer;
      offer = was > offer ? offer : was;
    }
  }
}

// Merges v into w, both in a table's words.
template <u32 kWords>
__device__ inline void combine_state(const Fold& f, u64* w, const u64* v) {
  if constexpr (kWords > 1) {
    if (f.op == kMinN || f.op == kMaxN) return combine_best<kWords>(w, v);
  }
  if constexpr (kWords == 8) {
    combine_comoments(w, v);
  } else if constexpr (kWords == 4 || kWords == 6) {
    combine_moments<kWords>(w, v);
  } else if constexpr (kWords == 2) {
    w[0] += v[0];
    w[1] += v[1] + (w[0] < v[0]);
  } else if constexpr (kWords == 1) {
    switch (f.op) {
      case kSumFloat: combine_double(w, to_double(v[0])); break;
      case kMin: w[0] = v[0] < w[0] ? v[0] : w[0]; break;
      case kMax: w[0] = v[0] > w[0] ? v[0] : w[0]; break;
      case kBitAnd: w[0] &= v[0]; break;
      case kBitOr: w[0] |= v[0]; break;
      case kBitXor: w[0] ^= v[0]; break;
      default: w[0] += v[0];  // kCount, kSum64, kCountDistinct
    }
  }
}

#endif
