	.text
	.globl	call
	.type	call,@function
call:
	.cfi_startproc
	lgr	%r1, %r2
	lgr	%r2, %r3
	lgr	%r3, %r4
	lgr	%r4, %r5
	lgr	%r5, %r6
	svc	0
	br	%r14
	.cfi_endproc
	.size	call, .-call

	# Where a signal handler returns to. The interrupted registers lie where the kernel put them, behind a register save
	# area, struct siginfo and the first members of struct ucontext.
	.globl	restorer
	.type	restorer,@function
	.cfi_startproc
	.cfi_signal_frame
	.cfi_return_column 65
	.cfi_escape 0x0f, 7, 0x7f, 0xd8, 0x03, 0x06, 0x23, 0xa0, 0x01	# CFA: *(r15+472) + 160
	.cfi_escape 0x10, 65, 3, 0x7f, 0xd8, 0x02	# pswa: at r15+344
	.cfi_escape 0x10, 10, 3, 0x7f, 0xb0, 0x03	# r10: at r15+432
	.cfi_escape 0x10, 11, 3, 0x7f, 0xb8, 0x03	# r11: at r15+440
	.cfi_escape 0x10, 12, 3, 0x7f, 0xc0, 0x03	# r12: at r15+448
	.cfi_escape 0x10, 13, 3, 0x7f, 0xc8, 0x03	# r13: at r15+456
	.cfi_escape 0x10, 14, 3, 0x7f, 0xd0, 0x03	# r14: at r15+464
	.cfi_escape 0x10, 15, 3, 0x7f, 0xd8, 0x03	# r15: at r15+472
	nopr	# for unwinders that look up the address before
restorer:
	svc	173
	.cfi_endproc
	.size	restorer, .-restorer

	# As if an interrupt had hit gate behind its prologue, and saved the exact address that it hit.
	.globl	gate
	.type	gate,@function
gate:
	.cfi_startproc
	stmg	%r14, %r15, 112(%r15)
	.cfi_offset r14, -48
	.cfi_offset r15, -40
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
hit:	jg	interrupt
	lmg	%r14, %r15, 272(%r15)
	.cfi_def_cfa_offset 160
	.cfi_restore r14
	.cfi_restore r15
	br	%r14
	.cfi_endproc
	.size	gate, .-gate

	.type	interrupt,@function
interrupt:
	larl	%r1, hit
	stg	%r1, 112(%r15)
	stg	%r15, 120(%r15)
	aghi	%r15, -160
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa_offset 320
	.cfi_offset r14, -48
	.cfi_offset r15, -40
	brasl	%r14, chain
	j	.+2
	.cfi_endproc
	.size	interrupt, .-interrupt
