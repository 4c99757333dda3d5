package minidump

import (
	"encoding/binary"

	"github.com/symlint/symlint/unwind/arch"
)

// Context adds a context record: the CPU follows from the flags. Slots without a value, and all that is no slot, are
// zero. It panics if the flags are those of no CPU.
func (b *Builder) Context(flags uint32, regs *arch.Registers) *Section {
	return b.Add(b.Section().Bytes(EncodeContext(b.Order, flags, regs)))
}

// EncodeContext is the inverse of DecodeContext.
func EncodeContext(order binary.ByteOrder, flags uint32, regs *arch.Registers) []byte {
	l := layouts[flags&ContextCPUMask]
	if l == nil {
		panic("minidump: flags of no CPU")
	}
	raw := make([]byte, l.size)
	if l.wide {
		order.PutUint64(raw[l.flags:], uint64(flags))
	} else {
		order.PutUint32(raw[l.flags:], flags)
	}
	for _, f := range l.fields {
		if v := regs.Value[f.slot]; f.size == 8 {
			order.PutUint64(raw[f.offset:], v)
		} else {
			order.PutUint32(raw[f.offset:], uint32(v))
		}
	}
	return raw
}

// Thread adds a thread. Its stack is the section at its Base; stack and context may be nil, and the locations of t
// are used then.
func (b *Builder) Thread(t Thread, stack, context *Section) {
	s := b.list(&b.threads, StreamThreadList, true)
	s.U32(t.ID).U32(t.Suspend).U32(t.PriorityClass).U32(t.Priority).U64(t.TEB)
	if stack != nil {
		s.U64(stack.Base).Location(stack)
	} else {
		s.U64(t.Stack.Base).U32(t.StackLocation.Size).U32(t.StackLocation.RVA)
	}
	b.locate(s, context, t.Context)
}

func (b *Builder) locate(s, target *Section, otherwise Location) {
	if target != nil {
		s.Location(target)
	} else {
		s.U32(otherwise.Size).U32(otherwise.RVA)
	}
}

// ThreadName names a thread.
func (b *Builder) ThreadName(id uint32, name string) {
	text := b.String(name)
	b.list(&b.names, StreamThreadNames, false).U32(id).Offset(8, text.Start(), 0)
}

// Module adds a module with its CodeView and miscellaneous debug records, either of which may be nil.
func (b *Builder) Module(m Module, codeView, misc *Section) {
	name := b.String(m.CodeFile)
	s := b.list(&b.modules, StreamModuleList, true)
	s.U64(m.Base).U32(m.Size).U32(m.Checksum).U32(m.Timestamp).Offset(4, name.Start(), 0)
	v := m.FixedInfo
	for _, w := range []uint32{
		v.Signature, v.StructVersion, v.FileVersionHi, v.FileVersionLo, v.ProductVersionHi, v.ProductVersionLo,
		v.FlagsMask, v.Flags, v.OS, v.Type, v.Subtype, v.DateHi, v.DateLo,
	} {
		s.U32(w)
	}
	s.Location(codeView).Location(misc).Zero(16)
}

// CodeViewPDB70 adds an "RSDS" record.
func (b *Builder) CodeViewPDB70(guid GUID, age uint32, file string) *Section {
	s := b.Section().U32(cvPDB70)
	s.guid(guid)
	return b.Add(s.U32(age).Bytes([]byte(file)).U8(0))
}

// CodeViewPDB20 adds an "NB10" record.
func (b *Builder) CodeViewPDB20(timestamp, age uint32, file string) *Section {
	return b.Add(b.Section().U32(cvPDB20).U32(0).U32(timestamp).U32(age).Bytes([]byte(file)).U8(0))
}

// CodeViewELF adds a "LEpB" record: a build id.
func (b *Builder) CodeViewELF(id []byte) *Section {
	return b.Add(b.Section().U32(cvELF).Bytes(id))
}

// MiscRecord adds a miscellaneous debug record with the name of a file.
func (b *Builder) MiscRecord(file string, wide bool) *Section {
	s := b.Section().U32(1).U32(0)
	if wide {
		s.U32(0).UTF16(file).U16(0)
		s.b[8] = 1
	} else {
		s.U32(0).Bytes([]byte(file)).U8(0)
	}
	b.Order.PutUint32(s.b[4:], uint32(len(s.b)))
	return b.Add(s)
}

func (s *Section) guid(g GUID) { s.U32(g.Data1).U16(g.Data2).U16(g.Data3).Bytes(g.Data4[:]) }

// Unloaded adds the list of unloaded modules.
func (b *Builder) Unloaded(modules []UnloadedModule) *Section {
	s := b.Section().U32(12).U32(unloadedModuleSize).U32(uint32(len(modules)))
	for _, m := range modules {
		s.U64(m.Base).U32(m.Size).U32(m.Checksum).U32(m.Timestamp).Offset(4, b.String(m.CodeFile).Start(), 0)
	}
	return b.Stream(StreamUnloadedModules, s)
}

// Memory adds a section, at its Base, to the MemoryList. The section must be in the dump, or be added.
func (b *Builder) Memory(s *Section) {
	b.list(&b.memory, StreamMemoryList, true).U64(s.Base).Location(s)
}

// Memory64 adds memory to the Memory64List.
func (b *Builder) Memory64(base uint64, data []byte) {
	if b.memory64 == nil {
		b.memory64 = b.Section()
		b.memory64Data = b.Section()
		b.Stream(StreamMemory64List, b.memory64.U64(0).Offset(8, b.memory64Data.Start(), 0))
		b.Add(b.memory64Data)
	}
	b.counts[b.memory64]++
	b.memory64.U64(base).U64(uint64(len(data)))
	b.memory64Data.Bytes(data)
}

// Exception adds the exception; without a context the location of e is used.
func (b *Builder) Exception(e Exception, context *Section) *Section {
	s := b.Section().U32(e.ThreadID).U32(0)
	s.U32(e.Code).U32(e.Flags).U64(e.Nested).U64(e.Address).U32(e.Parameters).U32(0)
	for _, v := range e.Information {
		s.U64(v)
	}
	b.locate(s, context, e.Context)
	return b.Stream(StreamException, s)
}

// SystemInfo adds the SystemInfo stream. Without HasCSD it refers to no text.
func (b *Builder) SystemInfo(v SystemInfo) *Section {
	s := b.Section().U16(uint16(v.Arch)).U16(v.Level).U16(v.Revision).U8(v.CPUs).U8(v.Product)
	s.U32(v.Major).U32(v.Minor).U32(v.Build).U32(uint32(v.Platform))
	if v.HasCSD {
		s.Offset(4, b.String(v.CSD).Start(), 0)
	} else {
		s.U32(0)
	}
	s.U16(v.Suite).U16(0)
	switch v.Arch {
	case ArchX86, ArchX86Win64:
		for i := 0; i < len(v.CPU86.Vendor); i += 4 {
			s.U32(binary.LittleEndian.Uint32(v.CPU86.Vendor[i:]))
		}
		s.U32(v.CPU86.Signature).U32(v.CPU86.Features).U32(v.CPU86.AMDFeatures)
	case ArchARM:
		s.U32(v.ARM.CPUID).U32(v.ARM.HWCaps).Zero(16)
	default:
		s.U64(v.Features[0]).U64(v.Features[1]).Zero(8)
	}
	return b.Stream(StreamSystemInfo, s)
}

// MiscInfo adds the MiscInfo stream in the version that m.Size is the size of; what is behind that is left out.
func (b *Builder) MiscInfo(m MiscInfo) *Section {
	s := b.Section().U32(m.Size).U32(m.Flags).U32(m.ProcessID).U32(m.CreateTime).U32(m.UserTime).U32(m.KernelTime)
	s.U32(m.MaxMHz).U32(m.CurrentMHz).U32(m.LimitMHz).U32(m.MaxIdleState).U32(m.CurrentIdleState)
	s.U32(m.IntegrityLevel).U32(m.ExecuteFlags).U32(m.Protected).U32(m.TimeZoneID).U32(uint32(m.Bias))
	s.UTF16Field(m.StandardName, 32).Zero(20).UTF16Field(m.DaylightName, 32).Zero(20)
	s.UTF16Field(m.BuildString, 260).UTF16Field(m.DebugBuildString, 40)
	s.U32(8 + 8 + 8*miscXStateFeatures).U32(m.XStateContextSize).U64(m.XStateEnabled)
	for _, x := range m.XState {
		s.U32(x.Offset).U32(x.Size)
	}
	s.U32(m.Cookie)
	if n := int(m.Size); n <= len(s.b) {
		s.b = s.b[:n]
	} else {
		s.Zero(min(n-len(s.b), 1<<16))
	}
	return b.Stream(StreamMiscInfo, s)
}

// MemoryInfo adds the list of the process's pages.
func (b *Builder) MemoryInfo(list []MemoryInfo) *Section {
	s := b.Section().U32(16).U32(48).U64(uint64(len(list)))
	for _, m := range list {
		s.U64(m.Base).U64(m.AllocationBase).U32(m.AllocationProtection).U32(0)
		s.U64(m.Size).U32(m.State).U32(m.Protection).U32(m.Type).U32(0)
	}
	return b.Stream(StreamMemoryInfoList, s)
}

// BreakpadInfo adds the BreakpadInfo stream.
func (b *Builder) BreakpadInfo(v BreakpadInfo) *Section {
	return b.Stream(StreamBreakpadInfo, b.Section().U32(v.Validity).U32(v.DumpThreadID).U32(v.RequestingID))
}

// Assertion adds an assertion.
func (b *Builder) Assertion(a Assertion) *Section {
	s := b.Section().UTF16Field(a.Expression, 128).UTF16Field(a.Function, 128).UTF16Field(a.File, 128)
	return b.Stream(StreamAssertion, s.U32(a.Line).U32(a.Type))
}

// Text adds a stream of bytes, such as Linux' texts.
func (b *Builder) Text(t StreamType, text string) *Section {
	return b.Stream(t, b.Section().Bytes([]byte(text)))
}

// DSODebug adds the dynamic linker's data, of a process with 64-bit words or 32-bit ones.
func (b *Builder) DSODebug(d DSODebug, is64 bool) *Section {
	word := 4
	if is64 {
		word = 8
	}
	objects := b.Section()
	for _, o := range d.Objects {
		objects.Word(word, o.Addr).Offset(4, b.String(o.Name).Start(), 0).Zero(word-4).Word(word, o.Dynamic)
	}
	b.Add(objects)
	s := b.Section().U32(d.Version).Offset(4, objects.Start(), 0).U32(uint32(len(d.Objects))).Zero(word - 4)
	s.Word(word, d.Break).Word(word, d.Base).Word(word, d.Dynamic).Bytes(d.DynamicSection)
	return b.Stream(StreamLinuxDSODebug, s)
}

// Crashpad adds the CrashpadInfo stream.
func (b *Builder) Crashpad(v CrashpadInfo) *Section {
	var links *Section
	if len(v.Modules) > 0 {
		links = b.Section().U32(uint32(len(v.Modules)))
		for _, m := range v.Modules {
			links.U32(m.Index).Location(b.crashpadModule(m))
		}
		b.Add(links)
	}
	s := b.Section().U32(v.Version)
	s.guid(v.ReportID)
	s.guid(v.ClientID)
	s.Location(b.dictionary(v.SimpleAnnotations)).Location(links).U32(0).U64(v.AddressMask)
	return b.Stream(StreamCrashpadInfo, s)
}

func (b *Builder) crashpadModule(m CrashpadModule) *Section {
	var texts, objects *Section
	if len(m.ListAnnotations) > 0 {
		texts = b.Section().U32(uint32(len(m.ListAnnotations)))
		for _, text := range m.ListAnnotations {
			texts.Offset(4, b.UTF8(text).Start(), 0)
		}
		b.Add(texts)
	}
	if len(m.Objects) > 0 {
		objects = b.Section().U32(uint32(len(m.Objects)))
		for _, o := range m.Objects {
			value := b.Add(b.Section().U32(uint32(len(o.Value))).Bytes(o.Value))
			objects.Offset(4, b.UTF8(o.Name).Start(), 0).U16(o.Type).U16(0).Offset(4, value.Start(), 0)
		}
		b.Add(objects)
	}
	simple := b.dictionary(m.SimpleAnnotations)
	return b.Add(b.Section().U32(m.Version).Location(texts).Location(simple).Location(objects))
}

func (b *Builder) dictionary(list []Annotation) *Section {
	if len(list) == 0 {
		return nil
	}
	s := b.Section().U32(uint32(len(list)))
	for _, a := range list {
		s.Offset(4, b.UTF8(a.Key).Start(), 0).Offset(4, b.UTF8(a.Value).Start(), 0)
	}
	return b.Add(s)
}

// HandleData adds the list of handles, in version 1 of its entries.
func (b *Builder) HandleData(list []Handle) *Section {
	s := b.Section().U32(handleHeaderSize).U32(handleSize).U32(uint32(len(list))).U32(0)
	for _, h := range list {
		s.U64(h.Value)
		b.optional(s, h.Type)
		b.optional(s, h.Name)
		s.U32(h.Attributes).U32(h.Access).U32(h.Handles).U32(h.Pointers)
	}
	return b.Stream(StreamHandleData, s)
}

func (b *Builder) optional(s *Section, text string) {
	if text == "" {
		s.U32(0)
		return
	}
	s.Offset(4, b.String(text).Start(), 0)
}
