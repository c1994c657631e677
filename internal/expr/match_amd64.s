//go:build !portable

#include "textflag.h"

// func matchVectors(out *uint64, codes *int32, n int, code int32)
TEXT ·matchVectors(SB), NOSPLIT, $0-28
	MOVQ         out+0(FP), DI
	MOVQ         codes+8(FP), SI
	MOVQ         n+16(FP), CX
	MOVL         code+24(FP), AX
	VMOVD        AX, X0
	VPBROADCASTD X0, Y0

loop:
	VPCMPEQD  (SI), Y0, Y1
	VPCMPEQD  32(SI), Y0, Y2
	VMOVMSKPS Y1, AX
	VMOVMSKPS Y2, BX
	SHLL      $8, BX
	ORL       BX, AX
	MOVW      AX, (DI)
	ADDQ      $64, SI
	ADDQ      $2, DI
	SUBQ      $16, CX
	JNZ       loop

	VZEROUPPER
	RET
