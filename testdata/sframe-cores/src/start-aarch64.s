	// The entry point: nothing calls it.
	.text
	.globl	_start
	.type	_start,%function
_start:
	.cfi_startproc
	.cfi_undefined x30
	mov	x29, #0
	mov	x30, #0
	bl	begin
	brk	#1
	.cfi_endproc
	.size	_start, .-_start
