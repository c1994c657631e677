//go:build !portable

#include "textflag.h"

// ADDHALVES adds the halves of 4 words, at a distance from SI, to the sums in two registers.
#define ADDHALVES(at, lows, highs) \
	VPXOR  at(SI), Y10, Y0; \
	VPAND  Y0, Y11, Y1; \
	VPSRLQ $32, Y0, Y0; \
	VPADDQ Y1, lows, lows; \
	VPADDQ Y0, highs, highs

// SUM brings the sum of the lanes of a register to AX.
#define SUM(y, x) \
	VEXTRACTI128 $1, y, X0; \
	VPADDQ       X0, x, X0; \
	VPSRLDQ      $8, X0, X1; \
	VPADDQ       X1, X0, X0; \
	VMOVQ        X0, AX

// func halvesVectors(x *uint64, n int, flip uint64) (lows, highs uint64)
//
// 8 words a step, in two pairs of sums.
TEXT ·halvesVectors(SB), NOSPLIT, $0-40
	MOVQ         x+0(FP), SI
	MOVQ         n+8(FP), CX
	VPBROADCASTQ flip+16(FP), Y10
	VPCMPEQQ     Y11, Y11, Y11
	VPSRLQ       $32, Y11, Y11 // the lower half of each word
	VPXOR        Y2, Y2, Y2
	VPXOR        Y3, Y3, Y3
	VPXOR        Y4, Y4, Y4
	VPXOR        Y5, Y5, Y5

loop:
	ADDHALVES(0, Y2, Y3)
	ADDHALVES(32, Y4, Y5)
	ADDQ $64, SI
	SUBQ $8, CX
	JNZ  loop

	VPADDQ Y4, Y2, Y2
	VPADDQ Y5, Y3, Y3
	SUM(Y2, X2)
	MOVQ   AX, lows+24(FP)
	SUM(Y3, X3)
	MOVQ   AX, highs+32(FP)
	VZEROUPPER
	RET
