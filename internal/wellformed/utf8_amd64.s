//go:build !portable

#include "textflag.h"

// What may be wrong with a byte and the byte behind it, a bit each:
//
//	0x01  a first byte, and no continuation
//	0x02  ASCII, and a continuation
//	0x04  0xE0, and a continuation below 0xA0: too long for the character
//	0x08  0xF4 and a continuation from 0x90 on, or above 0xF4 and one from 0x90 on: above U+10FFFF
//	0x10  0xED, and a continuation from 0xA0 on: a surrogate
//	0x20  0xC0 or 0xC1, and a continuation: too long for the character
//	0x40  0xF0, or above 0xF4, and a continuation below 0x90: too long for the character, or above U+10FFFF
//	0x80  two continuations, which is right in characters of three and four bytes
//
// A bit is set where all of three tables have it: by the high half of the byte, by its low half,
// and by the high half of the byte behind it.
DATA firstHigh<>+0(SB)/8, $0x0202020202020202
DATA firstHigh<>+8(SB)/8, $0x4915012180808080
GLOBL firstHigh<>(SB), RODATA|NOPTR, $16

DATA firstLow<>+0(SB)/8, $0xCBCBCB8B8383A3E7
DATA firstLow<>+8(SB)/8, $0xCBCBDBCBCBCBCBCB
GLOBL firstLow<>(SB), RODATA|NOPTR, $16

DATA secondHigh<>+0(SB)/8, $0x0101010101010101
DATA secondHigh<>+8(SB)/8, $0x01010101BABAAEE6
GLOBL secondHigh<>(SB), RODATA|NOPTR, $16

// Bytes of a vector above these begin characters that do not end in the vector.
DATA complete<>+0(SB)/8, $0xFFFFFFFFFFFFFFFF
DATA complete<>+8(SB)/8, $0xFFFFFFFFFFFFFFFF
DATA complete<>+16(SB)/8, $0xFFFFFFFFFFFFFFFF
DATA complete<>+24(SB)/8, $0xBFDFEFFFFFFFFFFF
GLOBL complete<>(SB), RODATA|NOPTR, $32

// 32 bytes of a mask from 32-n on keep the first n bytes of a vector.
DATA keep<>+0(SB)/8, $0xFFFFFFFFFFFFFFFF
DATA keep<>+8(SB)/8, $0xFFFFFFFFFFFFFFFF
DATA keep<>+16(SB)/8, $0xFFFFFFFFFFFFFFFF
DATA keep<>+24(SB)/8, $0xFFFFFFFFFFFFFFFF
DATA keep<>+32(SB)/8, $0
DATA keep<>+40(SB)/8, $0
DATA keep<>+48(SB)/8, $0
DATA keep<>+56(SB)/8, $0
GLOBL keep<>(SB), RODATA|NOPTR, $64

DATA bytes<>+0(SB)/1, $0x0F
DATA bytes<>+1(SB)/1, $0x60 // 0xE0-0x80: what is left of a first byte of three has the highest bit
DATA bytes<>+2(SB)/1, $0x70 // 0xF0-0x80: of a first byte of four
DATA bytes<>+3(SB)/1, $0x80
GLOBL bytes<>(SB), RODATA|NOPTR, $4

// CHECK looks at the vector Y0 behind the vector Y1, and adds what is wrong to Y2. It looks up the
// byte before each byte (Y4), and the byte itself; then it finds where two continuations are due: two
// bytes behind a first byte of three, and three behind a first byte of four.
#define CHECK \
	VPERM2I128 $0x21, Y0, Y1, Y3; \
	VPALIGNR   $15, Y3, Y0, Y4;   \
	VPSRLW     $4, Y4, Y5;        \
	VPAND      Y12, Y5, Y5;       \
	VPSHUFB    Y5, Y8, Y5;        \
	VPAND      Y12, Y4, Y4;       \
	VPSHUFB    Y4, Y9, Y4;        \
	VPAND      Y4, Y5, Y5;        \
	VPSRLW     $4, Y0, Y4;        \
	VPAND      Y12, Y4, Y4;       \
	VPSHUFB    Y4, Y10, Y4;       \
	VPAND      Y4, Y5, Y5;        \
	VPALIGNR   $14, Y3, Y0, Y4;   \
	VPALIGNR   $13, Y3, Y0, Y6;   \
	VPSUBUSB   Y13, Y4, Y4;       \
	VPSUBUSB   Y14, Y6, Y6;       \
	VPOR       Y4, Y6, Y4;        \
	VPAND      Y15, Y4, Y4;       \
	VPXOR      Y4, Y5, Y5;        \
	VPOR       Y5, Y2, Y2

// func validVectors(text unsafe.Pointer, bytes int) bool
TEXT ·validVectors(SB), NOSPLIT, $0-17
	MOVQ           text+0(FP), SI
	MOVQ           bytes+8(FP), CX
	VBROADCASTI128 firstHigh<>(SB), Y8
	VBROADCASTI128 firstLow<>(SB), Y9
	VBROADCASTI128 secondHigh<>(SB), Y10
	VMOVDQU        complete<>(SB), Y11
	VPBROADCASTB   bytes<>+0(SB), Y12
	VPBROADCASTB   bytes<>+1(SB), Y13
	VPBROADCASTB   bytes<>+2(SB), Y14
	VPBROADCASTB   bytes<>+3(SB), Y15
	VPXOR          Y1, Y1, Y1
	VPXOR          Y2, Y2, Y2

loop:
	CMPQ      CX, $32
	JLT       rest
	VMOVDQU   (SI), Y0
	ADDQ      $32, SI
	SUBQ      $32, CX
	VPMOVMSKB Y0, AX
	TESTL     AX, AX
	JEQ       ascii
	CHECK
	VMOVDQA   Y0, Y1
	JMP       loop

ascii:
	VPSUBUSB Y11, Y1, Y3
	VPOR     Y3, Y2, Y2
	VMOVDQA  Y0, Y1
	JMP      loop

rest:
	TESTQ   CX, CX
	JEQ     end
	LEAQ    keep<>+32(SB), AX
	SUBQ    CX, AX
	VMOVDQU (SI), Y0
	VPAND   (AX), Y0, Y0      // a 0 behind the text ends its last character
	CHECK
	JMP     answer

end:
	VPSUBUSB Y11, Y1, Y3
	VPOR     Y3, Y2, Y2

answer:
	VPTEST Y2, Y2
	SETEQ  ret+16(FP)
	VZEROUPPER
	RET

// func countBlocks(text unsafe.Pointer, blocks int) int
TEXT ·countBlocks(SB), NOSPLIT, $0-24
	MOVQ  text+0(FP), SI
	MOVQ  blocks+8(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4

count:
	VPCMPGTB 0(SI), Y0, Y5
	VPCMPGTB 32(SI), Y0, Y6
	VPCMPGTB 64(SI), Y0, Y7
	VPCMPGTB 96(SI), Y0, Y8
	VPSUBB   Y5, Y1, Y1
	VPSUBB   Y6, Y2, Y2
	VPSUBB   Y7, Y3, Y3
	VPSUBB   Y8, Y4, Y4
	ADDQ     $128, SI
	DECQ     CX
	JNE      count

	VPSADBW      Y0, Y1, Y1
	VPSADBW      Y0, Y2, Y2
	VPSADBW      Y0, Y3, Y3
	VPSADBW      Y0, Y4, Y4
	VPADDQ       Y1, Y2, Y1
	VPADDQ       Y3, Y4, Y3
	VPADDQ       Y1, Y3, Y1
	VEXTRACTI128 $1, Y1, X2
	VPADDQ       X1, X2, X1
	VPSRLDQ      $8, X1, X2
	VPADDQ       X1, X2, X1
	VMOVQ        X1, AX
	MOVQ         AX, ret+16(FP)
	VZEROUPPER
	RET
