//go:build !purego

#include "textflag.h"

#define ADD(row) \
	MOVL row*4(BX), AX; \
	MOVQ row*8(SI), DX; \
	ADDQ DX, (DI)(AX*8)

// func addVectors(sums *uint64, gids *uint32, x *uint64, n int) (magnitude uint64)
//
// sums[gids[i]] += x[i], 8 rows a step, with the values 256 rows ahead fetched.
TEXT ·addVectors(SB), NOSPLIT, $0-40
	MOVQ  sums+0(FP), DI
	MOVQ  gids+8(FP), BX
	MOVQ  x+16(FP), SI
	MOVQ  n+24(FP), CX
	VPXOR Y10, Y10, Y10
	VPXOR Y11, Y11, Y11 // magnitudes
	VPXOR Y12, Y12, Y12

loop:
	PREFETCHT0 2048(SI)
	VMOVDQU    (SI), Y0
	VMOVDQU    32(SI), Y1
	VPCMPGTQ   Y0, Y10, Y2
	VPCMPGTQ   Y1, Y10, Y3
	ADD(0)
	ADD(1)
	ADD(2)
	ADD(3)
	VPXOR    Y0, Y2, Y2
	VPXOR    Y1, Y3, Y3
	VPOR     Y2, Y11, Y11
	VPOR     Y3, Y12, Y12
	ADD(4)
	ADD(5)
	ADD(6)
	ADD(7)
	ADDQ     $64, SI
	ADDQ     $32, BX
	SUBQ     $8, CX
	JNZ      loop

	VPOR         Y11, Y12, Y12
	VEXTRACTI128 $1, Y12, X0
	VPOR         X0, X12, X0
	VPSRLDQ      $8, X0, X1
	VPOR         X1, X0, X0
	VMOVQ        X0, AX
	VZEROUPPER
	MOVQ         AX, magnitude+32(FP)
	RET
