// The table of packed slots: one word a group of a 4-byte key and one count, or one sum of a column of 4 bytes. A
// slot keeps of its key what its place does not tell: quotienting (Cleary, Compact Hash Tables Using Bidirectional
// Linear Probing, IEEE Transactions on Computers, 1984). The key is mixed by a permutation of the 32-bit numbers,
// and divided by the number of buckets; the remainder is its home.
//
//   bits 0-4         the step at which the search found the slot, from 1; a free slot is 0
//   bit 5            part of the sum is among the carries
//   bits 6-shift     the quotient
//   bits shift-63    the sum, in two's complement
//
// A bucket is a sector of four slots. A search looks at the home, and then 1, 3, 6, ... buckets behind it.
//
//   - Q1 (one slot): all searches of a key take the same way, slots do not become free, and the slots of a bucket
//     are taken in order. So a key has one slot, or is refused for ever.
//   - Q2 (sums fit): let the field have b bits. Who finds a sum of 2^(b-2) or more, or brings it there, moves all
//     of it to the carries before adding anything else; who adds 2^(b-21) or more looks first. So no more than one
//     addition of each of 2^19 threads, which no device has at a time, comes on top: 2^(b-2) in all.
//   - Q3 (carries fit): each takes 2^(b-2) from what the rows add, which are no more than 2^32 each;
//     Shape.PackedSlotsMin makes tables so large that there is room for as many.
#ifndef MPGA_KERNELS_PACKED_CUH
#define MPGA_KERNELS_PACKED_CUH

#include "key.cuh"
#include "params_packed.h"
#include "table.cuh"

constexpr u64 kCarried = 1 << 5;
constexpr u32 kQuotientFrom = 6;

struct PackedTable {
  PackedHeader* header;
  Carry* carries;
  u64* slots;
  u64 reciprocal, max_carries;
  u32 buckets, shift;

  __device__ __forceinline__ explicit PackedTable(const PackedLaunch& p)
      : header(reinterpret_cast<PackedHeader*>(p.launch.table.memory)), carries(reinterpret_cast<Carry*>(header + 1)),
        slots(reinterpret_cast<u64*>(carries + p.max_carries)), reciprocal(p.reciprocal), max_carries(p.max_carries),
        buckets(p.buckets), shift(p.shift) {}

  __device__ __forceinline__ i64 sum_of(u64 word) const { return i64(word) >> shift; }

  // Whether a number's magnitude is below 2^(b - less), b being the bits of a sum.
  __device__ __forceinline__ bool below(i64 n, u32 less) const {
    const i64 limit = 1ll << (64 - shift - less);
    return -limit < n && n < limit;
  }

  // Adds to the sum of a slot, by Q2.
  __device__ __forceinline__ void add(u64* at, u32 key, i64 value) const {
    if (below(value, 21)) {
      const u64 by = u64(value) << shift;
      if (below(sum_of(atomicAdd(at, by) + by), 2)) return;
      value = 0;
    }
    add_or_carry(at, key, value);
  }

  __device__ __noinline__ void add_or_carry(u64* at, u32 key, i64 value) const {
    const u64 tag = (1ull << shift) - 1;
    u64 now = *static_cast<volatile u64*>(at);
#pragma unroll 1
    for (;;) {
      const i64 sum = sum_of(now) + value;
      const bool fits = below(sum, 2);
      const u64 seen = atomicCAS(at, now, fits ? (now & tag) | u64(sum) << shift : (now & tag) | kCarried);
      if (seen == now) {
        if (fits) return;
        const u64 i = atomicAdd(&header->carries, 1ull);
        if (i < max_carries) carries[i] = {key, sum};
        return;
      }
      now = seen;
    }
  }

  // Adds to the group of a key, which a sealed table must have. False: the key is refused.
  template <bool kSealed>
  __device__ __forceinline__ bool take(u32 key, i64 value, Insertions& did) const {
    const u32 mixed = mix32(key), quotient = u32(__umul64hi(mixed, reciprocal));
    const u64 tags = ((1ull << shift) - 1) & ~kCarried;
    u32 bucket = mixed - quotient * buckets;
#pragma unroll 1
    for (u32 step = 1; step <= kPackedSteps; step++) {
      u64* at = slots + u64(bucket) * kBucketSlots;
      const u64 tag = u64(quotient) << kQuotientFrom | step;
      const ulonglong2 low = __ldcg(reinterpret_cast<const ulonglong2*>(at)), high = __ldcg(reinterpret_cast<const ulonglong2*>(at) + 1);
      const u64 words[kBucketSlots] = {low.x, low.y, high.x, high.y};
      u32 found = kBucketSlots, free = kBucketSlots;
#pragma unroll
      for (u32 i = kBucketSlots; i-- > 0;) {
        if ((words[i] & tags) == tag) found = i;
        if (words[i] == 0) free = i;
      }
      did.probes++;
      if (found == kBucketSlots) {
        if (kSealed && free < kBucketSlots) return false;
        const bool fits = below(value, 2);
#pragma unroll 1
        for (; !kSealed && free < kBucketSlots; free++) {
          const u64 seen = atomicCAS(at + free, 0ull, tag | (fits ? u64(value) << shift : 0));
          if (seen == 0) {
            did.groups++;
            if (fits) return true;
          }
          if (seen == 0 || (seen & tags) == tag) {
            found = free;
            break;
          }
        }
      }
      if (found < kBucketSlots) {
        add(at + found, key, value);
        return true;
      }
      bucket += step;
      if (bucket >= buckets) bucket -= buckets;
    }
    return false;
  }

  // The key of slot i, whose word is not 0.
  __device__ __forceinline__ u32 key_of(u64 i, u64 word) const {
    const u32 step = word & kPackedSteps, steps = step * (step - 1) / 2, bucket = u32(i / kBucketSlots);
    const u32 home = bucket < steps ? bucket + buckets - steps : bucket - steps;
    return unmix32(u32(word >> kQuotientFrom & ((1ull << (shift - kQuotientFrom)) - 1)) * buckets + home);
  }

  // The sum of a group, with its carries.
  __device__ __forceinline__ u64 total(u32 key, u64 word) const {
    i64 sum = sum_of(word);
    if ((word & kCarried) == 0) return u64(sum);
    const u64 n = min(header->carries, max_carries);
#pragma unroll 1
    for (u64 i = 0; i < n; i++) {
      if (carries[i].key == key) sum += carries[i].sum;
    }
    return u64(sum);
  }
};

#endif
