// What Go passes to the kernel that decompresses; launch_decompress.go declares the same structs.
// Plain C.
#ifndef MPGA_KERNELS_PARAMS_DECOMPRESS_H
#define MPGA_KERNELS_PARAMS_DECOMPRESS_H

#include "params.h"

enum { kDecompressThreads = 256 };

// ChunkStatus of decompress.go.
enum { kChunkDone, kChunkOutside, kChunkEnds, kChunkRefers, kChunkLong, kChunkShort };

// Chunk of decompress.go.
typedef struct {
  u64 from, to;
  u32 bytes, size;
} Chunk;

typedef struct {
  const u8* packed;  // and eight bytes more
  u64 packed_bytes;
  u8* plain;
  u64 plain_bytes;
  const Chunk* chunks;
  u64 count;
  u32* status;  // by chunk
} DecompressLaunch;

#endif
