package rules

// The examples of the unwind rules share their first five lines: one function of 0x40 bytes.
const (
	x64Head = `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
FILE 0 /src/main.c
FUNC 1000 40 0 main
1000 40 3 0
`
	x86Head = `MODULE Linux x86 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
FILE 0 /src/main.c
FUNC 1000 40 0 main
1000 40 3 0
`
	arm64Head = `MODULE Linux arm64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
FILE 0 /src/main.c
FUNC 1000 40 0 main
1000 40 3 0
`
	goodX64 = x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1001 $rbp: .cfa -16 + ^ .cfa: $rsp 16 +
STACK CFI 1004 .cfa: $rbp 16 +
STACK CFI 103f .cfa: $rsp 8 +
`
	goodX86 = x86Head + `STACK CFI INIT 1000 40 .cfa: $esp 4 + .ra: .cfa -4 + ^
STACK CFI 1001 $ebp: .cfa -8 + ^ .cfa: $esp 8 +
STACK CFI 1003 .cfa: $ebp 8 +
STACK CFI 103f .cfa: $esp 4 +
`
	goodARM64 = arm64Head + `STACK CFI INIT 1000 40 .cfa: sp 0 + .ra: x30
STACK CFI 1004 .cfa: sp 32 + .ra: .cfa -24 + ^ x29: .cfa -32 + ^
`
)
