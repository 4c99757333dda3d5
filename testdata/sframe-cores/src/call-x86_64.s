	.text
	.globl	call
	.type	call,@function
call:
	.cfi_startproc
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	syscall
	ret
	.cfi_endproc
	.size	call, .-call

	# Where a signal handler returns to. The interrupted registers lie where the kernel put them, behind uc_flags,
	# uc_link and uc_stack of the struct ucontext that the stack pointer points to.
	.globl	restorer
	.type	restorer,@function
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06	# CFA: *(rsp+160)
	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 0x01	# rip: at rsp+168
	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0x00	# rbp: at rsp+120
	.cfi_escape 0x10, 3, 3, 0x77, 0x80, 0x01	# rbx: at rsp+128
	.cfi_escape 0x10, 12, 3, 0x77, 0xc8, 0x00	# r12: at rsp+72
	.cfi_escape 0x10, 13, 3, 0x77, 0xd0, 0x00	# r13: at rsp+80
	.cfi_escape 0x10, 14, 3, 0x77, 0xd8, 0x00	# r14: at rsp+88
	.cfi_escape 0x10, 15, 3, 0x77, 0xe0, 0x00	# r15: at rsp+96
	nop	# for unwinders that look up the address before
restorer:
	movq	$15, %rax
	syscall
	.cfi_endproc
	.size	restorer, .-restorer

	# As if an interrupt had hit gate behind its first instruction, and pushed the exact address that it hit.
	.globl	gate
	.type	gate,@function
gate:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
hit:	jmp	interrupt
	popq	%rbp
	.cfi_def_cfa_offset 8
	.cfi_restore rbp
	ret
	.cfi_endproc
	.size	gate, .-gate

	.type	interrupt,@function
interrupt:
	.cfi_startproc
	.cfi_signal_frame
	leaq	hit(%rip), %rax		# no frame yet: not to be seen by an unwinder
	pushq	%rax
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	xorl	%ebp, %ebp
	call	chain
	hlt
	.cfi_endproc
	.size	interrupt, .-interrupt
