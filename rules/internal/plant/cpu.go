package plant

// cpu is what the kinds must know of a CPU: its names in STACK CFI, as Google's walkers spell them.
type cpu struct {
	word    int
	sp, fp  string
	ra      string // the rule of the return address at an entry: a register, or "" where the call pushes it
	scratch string // a register that a call may change
	foreign string // a register of another CPU
	bare    string // the stack pointer under the wrong prefix convention
	saved   []string
	other   string // the name of another CPU for MODULE
}

var (
	x86 = &cpu{word: 4, sp: "$esp", fp: "$ebp", scratch: "$ecx", foreign: "$rsp", bare: "esp", other: "x86_64",
		saved: []string{"$ebx", "$esi", "$edi", "$ebp"}}
	amd64 = &cpu{word: 8, sp: "$rsp", fp: "$rbp", scratch: "$rcx", foreign: "$esp", bare: "rsp", other: "arm64",
		saved: []string{"$rbx", "$rbp", "$r12", "$r13", "$r14", "$r15"}}
	arm = &cpu{word: 4, sp: "sp", fp: "r11", ra: "lr", scratch: "r12", foreign: "$esp", bare: "$sp", other: "x86",
		saved: []string{"r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11"}}
	arm64 = &cpu{word: 8, sp: "sp", fp: "x29", ra: "x30", scratch: "x9", foreign: "$rsp", bare: "$sp", other: "x86_64",
		saved: []string{"x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29"}}
	mips = &cpu{word: 4, sp: "$sp", fp: "$fp", ra: "$ra", scratch: "$v0", foreign: "$rsp", bare: "sp", other: "x86",
		saved: []string{"$s0", "$s1", "$s2", "$s3", "$s4", "$s5", "$s6", "$s7", "$fp"}}
	riscv = &cpu{word: 8, sp: "sp", fp: "s0", ra: "ra", scratch: "t0", foreign: "$rsp", bare: "$sp", other: "x86_64",
		saved: []string{"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11"}}
)

var cpus = map[string]*cpu{
	"x86": x86, "x86_64": amd64, "x86_64h": amd64, "arm": arm, "arm64": arm64, "arm64e": arm64, "mips": mips, "riscv": riscv,
}
