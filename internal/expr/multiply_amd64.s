//go:build !portable

#include "textflag.h"

// REDUCE brings the OR of the lanes of a vector to AX.
#define REDUCE(z, y) \
	VEXTRACTI64X4 $1, z, Y4; \
	VPOR          y, Y4, Y4; \
	VEXTRACTI128  $1, Y4, X5; \
	VPOR          X4, X5, X5; \
	VPSRLDQ       $8, X5, X4; \
	VPOR          X4, X5, X5; \
	VMOVQ         X5, AX

// func multiplyVectors(out, a, b *int64, n int, low, high int64) (sizes [2]uint64, outside int64)
TEXT ·multiplyVectors(SB), NOSPLIT, $0-72
	MOVQ         out+0(FP), DI
	MOVQ         a+8(FP), SI
	MOVQ         b+16(FP), BX
	MOVQ         n+24(FP), CX
	VPBROADCASTQ low+32(FP), Z10
	VPBROADCASTQ high+40(FP), Z11
	VPXORQ       Z12, Z12, Z12 // the bits of a, those of negative numbers flipped
	VPXORQ       Z13, Z13, Z13 // of b
	VPXORQ       Z14, Z14, Z14 // negative where a product is outside

loop:
	VMOVDQU64 (SI), Z0
	VMOVDQU64 (BX), Z1
	VPMULLQ   Z0, Z1, Z2
	VMOVDQU64 Z2, (DI)
	VPSRAQ    $63, Z0, Z3
	VPXORQ    Z0, Z3, Z3
	VPORQ     Z3, Z12, Z12
	VPSRAQ    $63, Z1, Z3
	VPXORQ    Z1, Z3, Z3
	VPORQ     Z3, Z13, Z13
	VPSUBQ    Z10, Z2, Z3
	VPSUBQ    Z2, Z11, Z4
	VPORQ     Z3, Z4, Z4
	VPORQ     Z4, Z14, Z14
	ADDQ      $64, SI
	ADDQ      $64, BX
	ADDQ      $64, DI
	SUBQ      $8, CX
	JNZ       loop

	REDUCE(Z12, Y12)
	MOVQ AX, sizes_0+48(FP)
	REDUCE(Z13, Y13)
	MOVQ AX, sizes_1+56(FP)
	REDUCE(Z14, Y14)
	MOVQ AX, outside+64(FP)
	VZEROUPPER
	RET
