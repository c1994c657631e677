//go:build !portable

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

// ADDFEW adds the values in Z13 of the rows that are in a group, of the groups of the rows in Z12.
#define ADDFEW(group, sum) \
	VPCMPEQQ group, Z12, K1; \
	VPADDQ   Z13, sum, K1, sum

// SETTLE adds the lanes of a sum to a word.
#define SETTLE(at, z, y) \
	VEXTRACTI64X4 $1, z, Y13; \
	VPADDQ        y, Y13, Y13; \
	VEXTRACTI128  $1, Y13, X12; \
	VPADDQ        X12, X13, X13; \
	VPSRLDQ       $8, X13, X12; \
	VPADDQ        X12, X13, X13; \
	VMOVQ         X13, AX; \
	ADDQ          AX, at*8(DI)

// func addFew(sums *[8]uint64, gids *uint32, x *uint64, n, groups int) (magnitude uint64)
//
// addVectors for at most 8 groups: every group's sums have a register, to which 8 rows a step add what is theirs.
// No addition waits for the one before it to come back from memory.
TEXT ·addFew(SB), NOSPLIT, $0-48
	MOVQ         sums+0(FP), DI
	MOVQ         gids+8(FP), BX
	MOVQ         x+16(FP), SI
	MOVQ         n+24(FP), CX
	MOVQ         groups+32(FP), DX
	VPXORQ       Z0, Z0, Z0
	VPXORQ       Z1, Z1, Z1
	VPXORQ       Z2, Z2, Z2
	VPXORQ       Z3, Z3, Z3
	VPXORQ       Z4, Z4, Z4
	VPXORQ       Z5, Z5, Z5
	VPXORQ       Z6, Z6, Z6
	VPXORQ       Z7, Z7, Z7
	VPXORQ       Z11, Z11, Z11 // magnitudes
	VPXORQ       Z16, Z16, Z16 // the numbers of groups, from Z16 on
	MOVQ         $1, AX
	VPBROADCASTQ AX, Z17
	VPADDQ       Z17, Z17, Z18
	VPADDQ       Z17, Z18, Z19
	VPADDQ       Z17, Z19, Z20
	VPADDQ       Z17, Z20, Z21
	VPADDQ       Z17, Z21, Z22
	VPADDQ       Z17, Z22, Z23

loop:
	PREFETCHT0 2048(SI)
	VMOVDQU64  (SI), Z13
	VPMOVZXDQ  (BX), Z12
	VPSRAQ     $63, Z13, Z14
	VPXORQ     Z13, Z14, Z14
	VPORQ      Z14, Z11, Z11
	ADDFEW(Z16, Z0)
	ADDFEW(Z17, Z1)
	ADDFEW(Z18, Z2)
	ADDFEW(Z19, Z3)
	CMPQ       DX, $4
	JLE        next
	ADDFEW(Z20, Z4)
	ADDFEW(Z21, Z5)
	ADDFEW(Z22, Z6)
	ADDFEW(Z23, Z7)

next:
	ADDQ $64, SI
	ADDQ $32, BX
	SUBQ $8, CX
	JNZ  loop

	SETTLE(0, Z0, Y0)
	SETTLE(1, Z1, Y1)
	SETTLE(2, Z2, Y2)
	SETTLE(3, Z3, Y3)
	SETTLE(4, Z4, Y4)
	SETTLE(5, Z5, Y5)
	SETTLE(6, Z6, Y6)
	SETTLE(7, Z7, Y7)

	VEXTRACTI64X4 $1, Z11, Y12
	VPOR          Y11, Y12, Y12
	VEXTRACTI128  $1, Y12, X13
	VPOR          X12, X13, X13
	VPSRLDQ       $8, X13, X12
	VPOR          X12, X13, X13
	VMOVQ         X13, AX
	VZEROUPPER
	MOVQ          AX, magnitude+40(FP)
	RET
