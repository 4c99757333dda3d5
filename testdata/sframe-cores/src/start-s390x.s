	# The entry point: nothing calls it.
	.text
	.globl	_start
	.type	_start,@function
_start:
	.cfi_startproc
	.cfi_undefined r14
	aghi	%r15, -160
	lghi	%r11, 0
	brasl	%r14, begin
	j	.+2
	.cfi_endproc
	.size	_start, .-_start
