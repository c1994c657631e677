// Elements of the snappy format.
#ifndef MPGA_KERNELS_SNAPPY_CUH
#define MPGA_KERNELS_SNAPPY_CUH

#include "loads.cuh"

constexpr u32 kShortLiteral = 60;  // the longest whose length is in the tag

// Element stands for size bytes: of a literal behind the head, or else from offset bytes before.
struct Element {
  u32 head;  // bytes
  u64 size;
  u32 offset;
  bool literal;

  // Whether the element goes beyond so many bytes, from its begin.
  __device__ __forceinline__ bool exceeds(u32 left) const { return (literal ? head + size : head) > left; }

  // The bytes of an element that does not exceed a block.
  __device__ __forceinline__ u32 bytes() const { return literal ? head + u32(size) : head; }
};

// The element that begins with eight bytes, of which it may have fewer.
__device__ __forceinline__ Element parse_element(u64 begin) {
  const u32 tag = u32(begin) & 255, kind = tag & 3, number = u32(begin >> 8);
  Element e = {1 + kind, (tag >> 2) + 1, number, kind == 0};
  if (kind == 0) {
    if (e.size > kShortLiteral) {
      const u32 extra = u32(e.size) - kShortLiteral;
      e.head = 1 + extra;
      e.size = u64(number & (u32(-1) >> (32 - 8 * extra))) + 1;
    }
  } else if (kind == 1) {
    e.size = (tag >> 2 & 7) + 4;
    e.offset = (tag >> 5) << 8 | (number & 255);
  } else if (kind == 2) {
    e.offset = number & 0xffff;
  } else {
    e.head = 5;
  }
  return e;
}

#endif
