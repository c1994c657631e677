//go:build !portable

#include "textflag.h"

// func unpackGroupsAVX2(out *uint32, packed *byte, groups, width int, lanes *unpackLanes) (largest uint32)
//
// out[i] = the i-th value of width bits, 8 a step; groups > 0. A step loads 16 bytes from packed on, and
// 16 from width / 2 bytes on, where the fifth value begins.
TEXT ·unpackGroupsAVX2(SB), NOSPLIT, $0-44
	MOVQ         out+0(FP), DI
	MOVQ         packed+8(FP), SI
	MOVQ         groups+16(FP), CX
	MOVQ         width+24(FP), DX
	MOVQ         lanes+32(FP), BX
	MOVQ         DX, R8
	SHRQ         $1, R8
	VMOVDQU      (BX), Y10       // which 4 bytes have a value
	VMOVDQU      32(BX), Y11     // at which bit it begins there
	VPBROADCASTD 64(BX), Y12
	VPXOR        Y13, Y13, Y13   // largest values

loop:
	VMOVDQU     (SI), X0
	VINSERTI128 $1, (SI)(R8*1), Y0, Y0
	VPSHUFB     Y10, Y0, Y0
	VPSRLVD     Y11, Y0, Y0
	VPAND       Y12, Y0, Y0
	VPMAXUD     Y0, Y13, Y13
	VMOVDQU     Y0, (DI)
	ADDQ        DX, SI
	ADDQ        $32, DI
	DECQ        CX
	JNZ         loop

	VEXTRACTI128 $1, Y13, X0
	VPMAXUD      X0, X13, X13
	VPSHUFD      $0x4E, X13, X0
	VPMAXUD      X0, X13, X13
	VPSHUFD      $0xB1, X13, X0
	VPMAXUD      X0, X13, X13
	VMOVD        X13, AX
	VZEROUPPER
	MOVL         AX, largest+40(FP)
	RET
