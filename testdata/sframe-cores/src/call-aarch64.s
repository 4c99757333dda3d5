	.text
	.globl	call
	.type	call,%function
call:
	.cfi_startproc
	mov	x8, x0
	mov	x0, x1
	mov	x1, x2
	mov	x2, x3
	mov	x3, x4
	svc	#0
	ret
	.cfi_endproc
	.size	call, .-call

	// Where a signal handler returns to. The interrupted registers lie where the kernel put them, behind struct siginfo
	// and the first members of struct ucontext.
	.globl	restorer
	.type	restorer,%function
	.cfi_startproc
	.cfi_signal_frame
	.cfi_return_column 32
	.cfi_escape 0x0f, 4, 0x8f, 0xb0, 0x04, 0x06	// CFA: *(sp+560)
	.cfi_escape 0x10, 32, 3, 0x8f, 0xb8, 0x04	// pc: at sp+568
	.cfi_escape 0x10, 30, 3, 0x8f, 0xa8, 0x04	// x30: at sp+552
	.cfi_escape 0x10, 29, 3, 0x8f, 0xa0, 0x04	// x29: at sp+544
	.cfi_escape 0x10, 20, 3, 0x8f, 0xd8, 0x03	// x20: at sp+472
	.cfi_escape 0x10, 19, 3, 0x8f, 0xd0, 0x03	// x19: at sp+464
	nop	// for unwinders that look up the address before
restorer:
	mov	x8, #139
	nop	// or else gdb takes it for Linux' own, and reads more of the frame than qemu writes
	svc	#0
	.cfi_endproc
	.size	restorer, .-restorer

	// As if an interrupt had hit gate behind its first instruction, and saved the exact address that it hit.
	.globl	gate
	.type	gate,%function
gate:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
hit:	b	interrupt
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	gate, .-gate

	.type	interrupt,%function
interrupt:
	adr	x9, hit
	stp	x29, x9, [sp, #-16]!
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, #0
	bl	chain
	brk	#1
	.cfi_endproc
	.size	interrupt, .-interrupt
