// Kernels that use each part of the executor, and some that are wrong in one way each.

extern "C" __global__ void sum_block(const uint32_t* in, uint64_t count, unsigned long long* out) {
  __shared__ unsigned long long partial[32];
  unsigned long long sum = 0;
  uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) sum = in[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned w = 1; w < blockDim.x / 32; w++) sum += partial[w];
    atomicAdd(out, sum);
  }
}

// Each block waits for the one whose ticket came before, as a decoupled look-back does.
extern "C" __global__ void chain(unsigned* ticket, volatile unsigned* flags, unsigned* order) {
  __shared__ unsigned mine;
  if (threadIdx.x == 0) mine = atomicAdd(ticket, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    while (mine > 0 && flags[mine - 1] == 0) __nanosleep(20);
    order[mine] = mine > 0 ? order[mine - 1] + 1 : 0;
    __threadfence();
    flags[mine] = 1;
  }
}

extern "C" __global__ void warp_operations(uint32_t* out) {
  unsigned lane = threadIdx.x % 32;
  uint32_t even = 0x55555555, odd = ~even, mine = lane % 2 ? odd : even;
  uint32_t r = 0;
  // The lanes diverge, and meet in masks of their own.
  if (lane % 2) {
    r = __ballot_sync(odd, lane < 8);
  } else {
    r = __match_any_sync(even, lane / 8);
  }
  r += __reduce_add_sync(mine, 1u);
  r += __shfl_xor_sync(0xffffffff, lane, 1) << 16;
  r += __any_sync(0xffffffff, lane == 31) + __all_sync(0xffffffff, lane < 31);
  r += __popc(__activemask());
  out[threadIdx.x] = r;
}

extern "C" __global__ void dynamic_shared(uint32_t* out, uint32_t n) {
  extern __shared__ uint32_t scratch[];
  for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) scratch[i] = i;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) out[i] = scratch[n - 1 - i];
}

extern "C" __global__ void race(uint32_t* out) {
  __shared__ uint32_t cell[256];
  cell[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = cell[255 - threadIdx.x];  // no barrier
}

extern "C" __global__ void beyond_static(uint32_t* out, uint32_t at) {
  __shared__ uint32_t cell[32];
  cell[at] = 1;
  out[0] = cell[0];
}

extern "C" __global__ void lost_barrier() {
  if (threadIdx.x < 32) __syncwarp();
  if (threadIdx.x == 0) {
    __shfl_sync(3, 1, 0);
  } else {
    __syncthreads();
  }
}

extern "C" __global__ void lane_missing() {
  if (threadIdx.x == 1) return;
  __syncwarp();
}
