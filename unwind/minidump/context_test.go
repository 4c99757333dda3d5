package minidump

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/arch"
)

// The offsets of the records' fields, independent of the table that reads them.
func TestContextOffsets(t *testing.T) {
	for _, c := range []struct {
		flags  uint32
		size   int
		slot   string
		offset int
		wide   int
	}{
		{ContextX86, 716, "$edi", 156, 4}, {ContextX86, 716, "$esi", 160, 4}, {ContextX86, 716, "$ebx", 164, 4},
		{ContextX86, 716, "$edx", 168, 4}, {ContextX86, 716, "$ecx", 172, 4}, {ContextX86, 716, "$eax", 176, 4},
		{ContextX86, 716, "$ebp", 180, 4}, {ContextX86, 716, "$eip", 184, 4}, {ContextX86, 716, "$eflags", 192, 4},
		{ContextX86, 716, "$esp", 196, 4},
		{ContextAMD64, 1232, "$rflags", 68, 4}, {ContextAMD64, 1232, "$rax", 120, 8}, {ContextAMD64, 1232, "$rcx", 128, 8},
		{ContextAMD64, 1232, "$rdx", 136, 8}, {ContextAMD64, 1232, "$rbx", 144, 8}, {ContextAMD64, 1232, "$rsp", 152, 8},
		{ContextAMD64, 1232, "$rbp", 160, 8}, {ContextAMD64, 1232, "$rsi", 168, 8}, {ContextAMD64, 1232, "$rdi", 176, 8},
		{ContextAMD64, 1232, "$r8", 184, 8}, {ContextAMD64, 1232, "$r15", 240, 8}, {ContextAMD64, 1232, "$rip", 248, 8},
		{ContextARM, 368, "r0", 4, 4}, {ContextARM, 368, "sp", 56, 4}, {ContextARM, 368, "lr", 60, 4},
		{ContextARM, 368, "pc", 64, 4}, {ContextARM, 368, "cpsr", 68, 4},
		{ContextARM64, 912, "cpsr", 4, 4}, {ContextARM64, 912, "x0", 8, 8}, {ContextARM64, 912, "x30", 248, 8},
		{ContextARM64, 912, "sp", 256, 8}, {ContextARM64, 912, "pc", 264, 8},
		{ContextARM64Old, 796, "x0", 8, 8}, {ContextARM64Old, 796, "pc", 264, 8}, {ContextARM64Old, 796, "cpsr", 272, 4},
		{ContextMIPS64, 600, "$zero", 8, 8}, {ContextMIPS64, 600, "$s0", 136, 8}, {ContextMIPS64, 600, "$gp", 232, 8},
		{ContextMIPS64, 600, "$sp", 240, 8}, {ContextMIPS64, 600, "$fp", 248, 8}, {ContextMIPS64, 600, "$ra", 256, 8},
		{ContextMIPS64, 600, "$pc", 312, 8}, {ContextMIPS, 600, "$pc", 312, 8},
		{ContextPPC, 1004, "srr0", 4, 4}, {ContextPPC, 1004, "r1", 16, 4}, {ContextPPC, 1004, "cr", 140, 4},
		{ContextPPC, 1004, "lr", 148, 4}, {ContextPPC, 1004, "ctr", 152, 4},
		{ContextPPC64, 1160, "srr0", 8, 8}, {ContextPPC64, 1160, "r1", 32, 8}, {ContextPPC64, 1160, "cr", 280, 8},
		{ContextPPC64, 1160, "lr", 296, 8}, {ContextPPC64, 1160, "ctr", 304, 8},
		{ContextSPARC, 584, "sp", 120, 8}, {ContextSPARC, 584, "fp", 248, 8}, {ContextSPARC, 584, "pc", 272, 8},
		{ContextSPARC, 584, "npc", 280, 8},
		{ContextRISCV, 268, "pc", 8, 4}, {ContextRISCV, 268, "sp", 16, 4}, {ContextRISCV, 268, "s0", 40, 4}, {ContextRISCV, 268, "t6", 132, 4},
		{ContextRISCV64, 528, "pc", 8, 8}, {ContextRISCV64, 528, "ra", 16, 8}, {ContextRISCV64, 528, "s0", 72, 8}, {ContextRISCV64, 528, "t6", 256, 8},
	} {
		for _, order := range orders {
			raw := EncodeContext(order, c.flags, &arch.Registers{})
			if len(raw) != c.size {
				t.Fatalf("0x%x: %d bytes, want %d", c.flags, len(raw), c.size)
			}
			if c.wide == 8 {
				order.PutUint64(raw[c.offset:], 0x87654321)
			} else {
				order.PutUint32(raw[c.offset:], 0x87654321)
			}
			got, err := DecodeContext(raw, order, nil)
			if err != nil {
				t.Fatal(err)
			}
			for slot, name := range got.CPU.Slots {
				want := uint64(0)
				if name == c.slot {
					want = 0x87654321
				}
				if v, ok := got.Registers.Get(slot); !ok || v != want {
					t.Errorf("%s %s: %s is 0x%x, want 0x%x", got.CPU, c.slot, name, v, want)
				}
			}
		}
	}
}

// Which layout a record has: by size, by flags, by SystemInfo.
func TestContextChoice(t *testing.T) {
	sys := func(a Architecture) *SystemInfo { return &SystemInfo{Arch: a} }
	for _, c := range []struct {
		name  string
		size  int
		flags uint32
		at    int // of the flags
		sys   *SystemInfo
		cpu   string // "": refused
		out   uint32 // completed flags
	}{
		{"x86", 716, ContextX86 | 7, 0, nil, "x86", ContextX86 | 7},
		{"x86 without flags", 716, 7, 0, sys(ArchX86), "x86", ContextX86 | 7},
		{"x86 without flags or SystemInfo", 716, 7, 0, nil, "", 0},
		{"x86 without flags on win64", 716, 7, 0, sys(ArchX86Win64), "", 0},
		{"x86 on win64", 716, ContextX86, 0, sys(ArchX86Win64), "x86", ContextX86},
		{"x86 on amd64", 716, ContextX86, 0, sys(ArchAMD64), "x86", ContextX86},
		{"x86 on arm", 716, ContextX86, 0, sys(ArchARM), "", 0},
		{"x86 with extended state", 716 + 100, ContextX86 | 0x40, 0, sys(ArchX86), "x86", ContextX86 | 0x40},
		{"x86 with most extended state", 716 + 16384, ContextX86 | 0x40, 0, sys(ArchX86), "x86", ContextX86 | 0x40},
		{"x86 with too much", 716 + 16385, ContextX86 | 0x40, 0, sys(ArchX86), "", 0},
		{"x86 too long without the flag", 716 + 100, ContextX86, 0, sys(ArchX86), "", 0},
		{"x86 too short", 715, ContextX86, 0, sys(ArchX86), "", 0},
		{"amd64", 1232, ContextAMD64 | 0xf, 48, nil, "x86_64", ContextAMD64 | 0xf},
		{"amd64 without flags", 1232, 0, 48, sys(ArchAMD64), "", 0},
		{"amd64 on x86", 1232, ContextAMD64, 48, sys(ArchX86), "", 0},
		{"amd64 with extended state", 1232 + 2000, ContextAMD64 | 0x40, 48, sys(ArchAMD64), "x86_64", ContextAMD64 | 0x40},
		{"amd64 with extended state, no flag", 1233, ContextAMD64, 48, sys(ArchAMD64), "x86_64", ContextAMD64},
		{"amd64 with too much", 1232 + 16385, ContextAMD64, 48, sys(ArchAMD64), "", 0},
		{"amd64 with extended state, no SystemInfo", 1233, ContextAMD64, 48, nil, "", 0},
		{"amd64 flags in a small record", 600, ContextAMD64, 0, nil, "", 0},
		{"arm", 368, ContextARM | 6, 0, sys(ArchARM), "arm", ContextARM | 6},
		{"old arm", 368, 0x46, 0, sys(ArchARM), "arm", ContextARM | 6},
		{"old arm without SystemInfo", 368, 0x46, 0, nil, "arm", ContextARM | 6},
		{"arm without flags", 368, 6, 0, sys(ArchARM), "arm", ContextARM | 6},
		{"arm64", 912, ContextARM64, 0, sys(ArchARM64), "arm64", ContextARM64},
		{"arm64 on old arm64", 912, ContextARM64, 0, sys(ArchARM64Old), "", 0},
		{"old arm64", 796, ContextARM64Old | 2, 0, sys(ArchARM64Old), "arm64", ContextARM64 | 7},
		{"old arm64 without flags", 796, 0, 0, sys(ArchARM64Old), "arm64", ContextARM64},
		{"old arm64 on arm64", 796, ContextARM64Old, 0, sys(ArchARM64), "", 0},
		{"arm64 with the old size", 796, ContextARM64, 0, sys(ArchARM64), "", 0},
		{"mips", 600, ContextMIPS, 0, sys(ArchMIPS), "mips", ContextMIPS},
		{"mips64", 600, ContextMIPS64, 0, sys(ArchMIPS64), "mips64", ContextMIPS64},
		{"mips without flags", 600, 0, 0, sys(ArchMIPS64), "mips64", ContextMIPS64},
		{"mips on mips64", 600, ContextMIPS, 0, sys(ArchMIPS64), "", 0},
		{"ppc64", 1160, ContextPPC64 | 1, 0, sys(ArchPPC64), "ppc64", ContextPPC64 | 1},
		{"ppc", 1004, ContextPPC, 0, sys(ArchPPC), "ppc", ContextPPC},
		{"sparc", 584, ContextSPARC, 0, sys(ArchSPARC), "sparc", ContextSPARC},
		{"riscv", 268, ContextRISCV, 0, sys(ArchRISCV), "riscv", ContextRISCV},
		{"riscv64", 528, ContextRISCV64, 0, sys(ArchRISCV64), "riscv64", ContextRISCV64},
		{"unknown CPU", 600, 0x00020000, 0, nil, "", 0},
		{"two CPUs", 716, ContextX86 | ContextARM, 0, nil, "", 0},
		{"nothing", 0, 0, -1, sys(ArchX86), "", 0},
		{"three bytes", 3, 0, -1, sys(ArchX86), "", 0},
	} {
		raw := make([]byte, c.size)
		order := binary.ByteOrder(little)
		if c.at >= 0 {
			if c.size == 796 || c.size == 1160 {
				order.PutUint64(raw, uint64(c.flags))
			} else {
				order.PutUint32(raw[c.at:], c.flags)
			}
		}
		got, err := DecodeContext(raw, order, c.sys)
		if c.cpu == "" {
			if err == nil {
				t.Errorf("%s: taken as %s", c.name, got.CPU)
			}
			continue
		}
		if err != nil || got.CPU.Name != c.cpu || got.Flags != c.out || len(got.Raw) != c.size || !got.Registers.All() {
			t.Errorf("%s: %v, %+v", c.name, err, got)
		}
	}
	raw := make([]byte, 1160)
	little.PutUint64(raw, 1<<40|ContextPPC64)
	if _, err := DecodeContext(raw, little, nil); err == nil {
		t.Error("ppc64 flags beyond 32 bits")
	}
}

func TestContextOutside(t *testing.T) {
	f := with(t, func(b *Builder) { b.SystemInfo(SystemInfo{Arch: ArchX86}) })
	_, err := f.ContextAt(Location{716, uint32(len(f.Data) - 715)})
	if err == nil || !strings.Contains(err.Error(), "past the end") {
		t.Error(err)
	}
}
