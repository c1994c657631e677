// Doubles as integers: a mantissa, an integer below 2^53, times 2^(place - 1074).
#ifndef MPGA_KERNELS_EXACT_CUH
#define MPGA_KERNELS_EXACT_CUH

#include "params.h"

struct Exact {
  u64 mantissa;
  i32 place;
  bool negative, special;  // special: NaN, or infinite
};

__device__ __forceinline__ Exact to_exact(u64 word) {
  const u32 exponent = u32(word >> 52) & 0x7FF;
  const u64 fraction = word & ((1ull << 52) - 1);
  const bool normal = exponent > 0;
  return {normal ? fraction | 1ull << 52 : fraction, i32(normal ? exponent - 1 : 0), word >> 63 != 0, exponent == 0x7FF};
}

// Sets w to the double, in units of 2^(unit - 1074), in two's complement of 128 bits.
__device__ __forceinline__ void exact_words(u64 word, u32 unit, u64* w) {
  const Exact x = to_exact(word);
  const i32 by = x.place - i32(unit);
  u64 low = 0, high = 0;
  if (by >= 64) {
    high = by < 128 ? x.mantissa << (by - 64) : 0;
  } else if (by >= 0) {
    low = x.mantissa << by;
    high = by > 0 ? x.mantissa >> (64 - by) : 0;
  } else {
    low = by > -64 ? x.mantissa >> -by : 0;
  }
  if (x.negative) {
    low = 0 - low;
    high = ~high + (low == 0);
  }
  w[0] = low;
  w[1] = high;
}

#endif
