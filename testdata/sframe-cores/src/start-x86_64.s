	# The entry point: nothing calls it.
	.text
	.globl	_start
	.type	_start,@function
_start:
	.cfi_startproc
	.cfi_undefined rip
	xorl	%ebp, %ebp
	andq	$-16, %rsp
	call	begin
	hlt
	.cfi_endproc
	.size	_start, .-_start
