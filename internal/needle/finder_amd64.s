//go:build !portable

#include "textflag.h"

// func findPair(text unsafe.Pointer, at, last, at1, at2 int, byte1, byte2 byte) (place int, found bool)
TEXT ·findPair(SB), NOSPLIT, $0-57
	MOVQ         text+0(FP), SI
	MOVQ         at+8(FP), AX
	MOVQ         last+16(FP), CX
	MOVQ         at1+24(FP), R8
	MOVQ         at2+32(FP), R9
	VPBROADCASTB byte1+40(FP), Y0
	VPBROADCASTB byte2+41(FP), Y1
	ADDQ         SI, R8
	ADDQ         SI, R9

loop:
	CMPQ      AX, CX
	JGT       none
	VPCMPEQB  (R8)(AX*1), Y0, Y2
	VPCMPEQB  (R9)(AX*1), Y1, Y3
	VPAND     Y2, Y3, Y2
	VPMOVMSKB Y2, DX
	TESTL     DX, DX
	JNE       hit
	ADDQ      $32, AX
	JMP       loop

hit:
	BSFL DX, DX
	ADDQ DX, AX
	MOVQ AX, place+48(FP)
	MOVB $1, found+56(FP)
	VZEROUPPER
	RET

none:
	MOVQ AX, place+48(FP)
	MOVB $0, found+56(FP)
	VZEROUPPER
	RET
