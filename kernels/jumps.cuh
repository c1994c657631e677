// A warp finds where things begin that lie one behind the other, of which each tells its length: each lane
// looks at the thing that would begin at its byte of a window.
#ifndef MPGA_KERNELS_JUMPS_CUH
#define MPGA_KERNELS_JUMPS_CUH

#include "block.cuh"

constexpr u32 kWindow = 32;  // bytes, a lane each
constexpr u32 kBegins = 16;  // that a window has at most: a thing has two bytes or more

// What the lane at a place of the window has; kWindow beyond it.
__device__ __forceinline__ u32 jump(u32 next, u32 place) {
  const u32 there = __shfl_sync(kAllLanes, next, place % kWindow);
  return place < kWindow ? there : kWindow;
}

// Where the thing begins that is the lane's by number, below kBegins; kWindow where it is none of the
// window's. next is where the thing behind the lane's would begin, kWindow beyond the window.
__device__ __forceinline__ u32 find_begin(u32 next) {
  const u32 lane = lane_id();
  u32 place = 0;
#pragma unroll
  for (u32 things = 1; things < kBegins; things *= 2) {
    const u32 then = jump(next, place);
    if (lane & things) place = then;
    if (2 * things < kBegins) next = jump(next, next);
  }
  return place;
}

// The sum of the values of the lanes up to the lane, of those below kBegins.
template <class T>
__device__ __forceinline__ T sum_up_to(T value) {
#pragma unroll
  for (u32 d = 1; d < kBegins; d *= 2) {
    const T before = __shfl_up_sync(kAllLanes, value, d);
    if (lane_id() >= d) value += before;
  }
  return value;
}

#endif
