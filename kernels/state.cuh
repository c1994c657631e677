// The states of folds, as tables hold them: words that any number of threads may merge into.
//
// A table's words are those of operators.go, but for two that make merging one atomic: Min and Max
// hold words whose unsigned order is the values' order, and moments hold kNoShift until the first
// value. import_state and export_state are the way in and out.
//
// A row is a state of one row (row_state), so that there is one way to merge.
#ifndef MPGA_KERNELS_STATE_CUH
#define MPGA_KERNELS_STATE_CUH

#include "exact.cuh"
#include "params.h"

// The shift of moments without values: a NaN that no computation returns.
constexpr u64 kNoShift = ~0ull;
constexpr u64 kNaN = 0x7ff8000000000000ull;
constexpr u64 kSign = 1ull << 63;

__device__ __forceinline__ double to_double(u64 word) { return __longlong_as_double(i64(word)); }
__device__ __forceinline__ u64 to_word(double d) { return u64(__double_as_longlong(d)); }

// The low word of a value, sign- or zero-extended.
__device__ __forceinline__ u64 load_word(u32 type, const void* column, u64 row) {
  switch (type) {
    case kInt32: return u64(i64(static_cast<const i32*>(column)[row]));
    case kUint32: return static_cast<const u32*>(column)[row];
    case kInt128: return static_cast<const u64*>(column)[2 * row];
  }
  return static_cast<const u64*>(column)[row];
}

// The word above the low one.
__device__ __forceinline__ u64 load_high(u32 type, const void* column, u64 row, u64 low) {
  switch (type) {
    case kInt32:
    case kInt64: return u64(i64(low) >> 63);
    case kInt128: return static_cast<const u64*>(column)[2 * row + 1];
  }
  return 0;
}

__device__ __forceinline__ double load_double(u32 type, const void* column, u64 row) {
  const u64 low = load_word(type, column, row);
  switch (type) {
    case kFloat64: return to_double(low);
    case kUint32:
    case kUint64: return double(low);
    case kInt128: {
      // The magnitude: the low word of a small negative number is near 2^64, and would lose all digits.
      const u64 high = load_high(type, column, row, low);
      if (i64(high) >= 0) return double(high) * 0x1p64 + double(low);
      return -(double(~high + (low == 0)) * 0x1p64 + double(-low));
    }
  }
  return double(i64(low));
}

// Words in the order of their values, as spec's Ordered: -0 is 0, all NaNs are the same and last.
__device__ __forceinline__ u64 to_ordered(u32 type, u64 word) {
  switch (type) {
    case kUint32:
    case kUint64: return word;
    case kFloat64: {
      const double d = to_double(word);
      if (d != d) return kNaN | kSign;
      if (d == 0) return kSign;
      return word & kSign ? ~word : word | kSign;
    }
  }
  return word ^ kSign;
}

__device__ __forceinline__ u64 from_ordered(u32 type, u64 ordered) {
  switch (type) {
    case kUint32:
    case kUint64: return ordered;
    case kFloat64: return ordered & kSign ? ordered ^ kSign : ~ordered;
  }
  return ordered ^ kSign;
}

__device__ __forceinline__ u64 greatest(u32 type) {
  switch (type) {
    case kInt32: return 0x7fffffff;
    case kUint32: return 0xffffffff;
    case kUint64: return ~0ull;
    case kFloat64: return kNaN;
  }
  return ~kSign;
}

__device__ __forceinline__ u64 least(u32 type) {
  switch (type) {
    case kInt32: return 0xffffffff80000000ull;
    case kUint32:
    case kUint64: return 0;
    case kFloat64: return 0xfff0000000000000ull;  // -infinity
  }
  return kSign;
}

// Word i of a state without values.
__device__ __forceinline__ u64 identity(const Fold& f, u32 i) {
  switch (f.op) {
    case kMin: return to_ordered(f.type, greatest(f.type));
    case kMax: return to_ordered(f.type, least(f.type));
    case kBitAnd: return ~0ull;
    case kMoments2:
    case kMoments4: return i == 1 ? kNoShift : 0;
    case kComoments: return i == 1 || i == 2 ? kNoShift : 0;
  }
  return 0;
}

__device__ __forceinline__ bool is_valid(const u32* bitmap, u64 row) {
  return bitmap == nullptr || (bitmap[row / 32] >> (row % 32) & 1) != 0;
}

__device__ __forceinline__ u64 to_shift(double d) { return d == d ? to_word(d) : kNaN; }

// Sets w to the state of one row. False: the row does not count for the fold.
static __device__ __noinline__ bool row_state(const Fold& f, const Rows& rows, u64 row, u64* w) {
  const void* column = nullptr;
  if (f.column >= 0) {
    if (!is_valid(rows.valid[f.column], row)) return false;
    column = rows.columns[f.column];
  }
  if (f.other >= 0 && !is_valid(rows.valid[f.other], row)) return false;
  switch (f.op) {
    case kCount:
    case kCountDistinct: w[0] = 1; break;
    case kSum128:
      w[0] = load_word(f.type, column, row);
      w[1] = load_high(f.type, column, row, w[0]);
      break;
    case kSumFloat: w[0] = to_word(load_double(f.type, column, row)); break;
    case kSumExact: exact_words(load_word(f.type, column, row), f.unit, w); break;
    case kMin:
    case kMax: w[0] = to_ordered(f.type, load_word(f.type, column, row)); break;
    case kMinN:
    case kMaxN: {
      const u64 ordered = to_ordered(f.type, load_word(f.type, column, row));
      w[0] = 1;
      w[1] = f.op == kMinN ? ~ordered : ordered;
#pragma unroll 1
      for (u32 i = 2; i < f.words; i++) w[i] = 0;
      break;
    }
    case kMoments2:
    case kMoments4:
    case kComoments: {
      const double x = load_double(f.type, column, row);
      double rest = x - x;  // 0, or NaN where the value is not finite
      w[0] = 1;
      w[1] = to_shift(x);
      if (f.op == kComoments) {
        const double y = load_double(f.other_type, rows.columns[f.other], row);
        rest += y - y;
        w[2] = to_shift(y);
      }
#pragma unroll 1
      for (u32 i = f.op == kComoments ? 3 : 2; i < f.words; i++) w[i] = to_word(rest);
      break;
    }
    default: w[0] = load_word(f.type, column, row);
  }
  return true;
}

__device__ __forceinline__ void add_double(u64* at, double d) {
  if (d != 0) atomicAdd(reinterpret_cast<double*>(at), d);
}

// Adds 128 bits in two steps; the carry is known from what the first one replaced.
__device__ __forceinline__ void add_128(u64* low, u64* high, u64 by_low, u64 by_high) {
  if (by_low != 0 && atomicAdd(low, by_low) + by_low < by_low) by_high++;
  if (by_high != 0) atomicAdd(high, by_high);
}

// The shift of moments: that of the first state that is merged into them.
__device__ __forceinline__ double fix_shift(u64* at, u64 shift) {
  u64 now = *static_cast<volatile u64*>(at);
  if (now == kNoShift) {
    now = atomicCAS(at, kNoShift, shift);
    if (now == kNoShift) now = shift;
  }
  return to_double(now);
}

// Adds moments that are relative to w[1], by the binomial theorem.
__device__ inline void merge_moments(const Fold& f, u64* at, u64 stride, const u64* w) {
  if (w[0] == 0) return;
  const double n = double(w[0]), d = to_double(w[1]) - fix_shift(at + stride, w[1]);
  const double s1 = to_double(w[2]), s2 = to_double(w[3]);
  atomicAdd(at, w[0]);
  add_double(at + 2 * stride, s1 + n * d);
  add_double(at + 3 * stride, s2 + 2 * d * s1 + n * d * d);
  if (f.op != kMoments4) return;
  const double s3 = to_double(w[4]), s4 = to_double(w[5]);
  add_double(at + 4 * stride, s3 + 3 * d * s2 + 3 * d * d * s1 + n * d * d * d);
  add_double(at + 5 * stride, s4 + 4 * d * s3 + 6 * d * d * s2 + 4 * d * d * d * s1 + n * d * d * d * d);
}

// Words: n, Kx, Ky, sums of dx, dy, dx^2, dy^2, dx dy.
__device__ inline void merge_comoments(u64* at, u64 stride, const u64* w) {
  if (w[0] == 0) return;
  const double n = double(w[0]);
  const double ex = to_double(w[1]) - fix_shift(at + stride, w[1]);
  const double ey = to_double(w[2]) - fix_shift(at + 2 * stride, w[2]);
  const double sx = to_double(w[3]), sy = to_double(w[4]);
  atomicAdd(at, w[0]);
  add_double(at + 3 * stride, sx + n * ex);
  add_double(at + 4 * stride, sy + n * ey);
  add_double(at + 5 * stride, to_double(w[5]) + 2 * ex * sx + n * ex * ex);
  add_double(at + 6 * stride, to_double(w[6]) + 2 * ey * sy + n * ey * ey);
  add_double(at + 7 * stride, to_double(w[7]) + ex * sy + ey * sx + n * ex * ey);
}

// Merges the best values, the first first. A word of a state takes the greater of what it has and what is offered,
// and offers the other to the word behind it: the words are in order once all have come, whoever comes first. A value
// that is no better than the last of so many as are wanted is never among them.
__device__ inline void merge_best(const Fold& f, u64* at, u64 stride, const u64* w) {
  const u32 last = f.words - 1;
  if (w[1] <= *static_cast<volatile u64*>(at + last * stride) && *static_cast<volatile u64*>(at) >= last) return;
  atomicAdd(at, w[0]);
#pragma unroll 1
  for (u32 i = 1; i <= last && w[i] != 0; i++) {
    u64 offer = w[i];
#pragma unroll 1
    for (u32 j = 1; j <= last && offer != 0; j++) {
      u64* const best = at + j * stride;
      if (offer <= *static_cast<volatile u64*>(best)) continue;
      const u64 was = atomicMax(best, offer);
      offer = was < offer ? was : offer;
    }
  }
}

// Merges the words w into the state at, whose words are stride apart, in shared or global memory.
// Relaxed atomics are enough: states are read after a barrier or by a later kernel.
static __device__ __noinline__ void merge_state(const Fold& f, u64* at, u64 stride, const u64* w) {
  switch (f.op) {
    case kCount:
    case kSum64:
    case kCountDistinct:
      if (w[0] != 0) atomicAdd(at, w[0]);
      break;
    case kSum128:
    case kSumExact: add_128(at, at + stride, w[0], w[1]); break;
    case kSumFloat: add_double(at, to_double(w[0])); break;
    // A value that is no better than what is there needs no atomic.
    case kMin:
      if (w[0] < *static_cast<volatile u64*>(at)) atomicMin(at, w[0]);
      break;
    case kMax:
      if (w[0] > *static_cast<volatile u64*>(at)) atomicMax(at, w[0]);
      break;
    case kBitAnd:
      if ((*static_cast<volatile u64*>(at) & ~w[0]) != 0) atomicAnd(at, w[0]);
      break;
    case kBitOr:
      if ((~*static_cast<volatile u64*>(at) & w[0]) != 0) atomicOr(at, w[0]);
      break;
    case kBitXor:
      if (w[0] != 0) atomicXor(at, w[0]);
      break;
    case kMoments2:
    case kMoments4: merge_moments(f, at, stride, w); break;
    case kComoments: merge_comoments(at, stride, w); break;
    case kMinN:
    case kMaxN: merge_best(f, at, stride, w); break;
  }
}

// From a table's words to those of groups, and back, in place.
static __device__ __noinline__ void export_state(const Fold& f, u64* w) {
  switch (f.op) {
    case kMin:
    case kMax: w[0] = from_ordered(f.type, w[0]); break;
    case kMoments2:
    case kMoments4:
      if (w[1] == kNoShift) w[1] = 0;
      break;
    case kComoments:
      if (w[1] == kNoShift) w[1] = w[2] = 0;
      break;
  }
}

__device__ inline void import_state(const Fold& f, u64* w) {
  switch (f.op) {
    case kMin:
    case kMax: w[0] = to_ordered(f.type, w[0]); break;
    case kMoments2:
    case kMoments4: w[1] = to_shift(to_double(w[1])); break;
    case kComoments:
      w[1] = to_shift(to_double(w[1]));
      w[2] = to_shift(to_double(w[2]));
      break;
  }
}

#endif
