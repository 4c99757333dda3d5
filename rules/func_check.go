package rules

import (
	"fmt"
	"math"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// funcChecker looks at names while the records pass and at everything else in the finished index.
type funcChecker struct {
	pass      *lint.Pass
	unnamed   [len(placeholders)]tally
	mangled   [2]tally // FUNC and PUBLIC
	demangled int
	decorated tally // decorated names that contradict the record
}

func (c *funcChecker) Record(r *symfile.Record) {
	if !r.Usable {
		return
	}
	name := c.pass.Data[r.Text.Off:r.Text.End]
	kind, size := 0, r.Size
	if r.Kind == symfile.Public {
		kind, size = 1, 0
	} else if i := placeholderOf(name); i >= 0 {
		c.unnamed[i].add(r, size)
		return
	}
	if isMangled(name) {
		c.mangled[kind].add(r, size)
	} else if isDemangled(name) {
		c.demangled++
	}
	if size, ok := decoratedSize(name); ok && size != r.ParamSize && c.pass.Module.Arch == "x86" {
		c.decorated.add(r, 0)
	}
}

func (c *funcChecker) Merge(later lint.Checker) {
	l := later.(*funcChecker)
	for i := range c.unnamed {
		c.unnamed[i].merge(&l.unnamed[i])
	}
	for kind := range c.mangled {
		c.mangled[kind].merge(&l.mangled[kind])
	}
	c.demangled += l.demangled
	c.decorated.merge(&l.decorated)
}

func (c *funcChecker) Finish() {
	c.reportNames()
	c.reportSizes()
	c.reportOverlaps()
	c.reportParamSizes()
	c.reportWithoutLines()
	c.reportOrder()
}

// funcClass sorts out the functions that have no range to speak of.
type funcClass uint8

const (
	funcPlain funcClass = iota
	funcTombstone
	funcWrapping
	funcEmpty
	funcOversized // beyond 32 bits, which format-number-range reports
)

// classOf judges a FUNC's address and size. Linkers replace the addresses of code they discard by 0, 1, -1 or -2 (in 32
// or 64 bits).
func classOf(addr, size uint64) funcClass {
	switch {
	case size == 0:
		return funcEmpty
	case addr <= 1, addr == 0xffff_fffe, addr == 0xffff_ffff, addr >= 1<<64-2:
		return funcTombstone
	case addr+size-1 < addr:
		return funcWrapping
	case size > math.MaxUint32:
		return funcOversized
	}
	return funcPlain
}

func (c *funcChecker) reportNames() {
	p := c.pass
	for i := range c.unnamed {
		t := &c.unnamed[i]
		if t.count == 0 {
			continue
		}
		rec := p.RecordAt(t.off, t.line)
		spot := lint.At(funcUnnamed, rec, rec.Text)
		spot.Count = t.count
		p.Report(spot, func(f *lint.Finding) {
			f.Function = validText(p.Data[rec.Text.Off:rec.Text.End])
			f.Message = fmt.Sprintf("function at %#x is named %s", rec.Addr, shortName(f.Function))
			if t.count > 1 {
				f.Message = fmt.Sprintf("%d functions (%#x bytes) are named %s", t.count, t.bytes, shortName(f.Function))
			}
			at(f, rec.Addr)
			f.Subject = placeholders[i]
		})
	}
	for kind, what := range [...]string{"function", "PUBLIC symbol"} {
		t := &c.mangled[kind]
		if t.count == 0 || c.demangled <= c.mangled[0].count+c.mangled[1].count {
			continue
		}
		rec := p.RecordAt(t.off, t.line)
		spot := lint.At(funcMangledName, rec, rec.Text)
		spot.Count = t.count
		p.Report(spot, func(f *lint.Finding) {
			at(f, rec.Addr)
			f.Function = validText(p.Data[rec.Text.Off:rec.Text.End])
			name := shortName(f.Function)
			f.Message = fmt.Sprintf("name is mangled, %d others are demangled: %s", c.demangled, name)
			if t.count > 1 {
				f.Message = fmt.Sprintf("%d %ss have mangled names, %d others are demangled; the first is %s", t.count, what, c.demangled, name)
				f.Subject = "mangled names"
			}
		})
	}
}

// at sets the finding's address.
func at(f *lint.Finding, addr uint64) { f.HasAddress, f.Address = true, addr }

// reportSizes reports the functions without a usable range: runs of empty and wrapping ones, and all tombstones as one.
func (c *funcChecker) reportSizes() {
	p := c.pass
	funcs := p.Index.Funcs
	var dead struct {
		first, count int
		bytes        uint64
	}
	for i := 0; i < len(funcs); {
		class := classOf(funcs[i].Addr, funcs[i].Size)
		n := 1
		switch class {
		case funcTombstone:
			if dead.count == 0 {
				dead.first = i
			}
			dead.count++
			dead.bytes += funcs[i].Size
		case funcEmpty, funcWrapping:
			for i+n < len(funcs) && classOf(funcs[i+n].Addr, funcs[i+n].Size) == class {
				n++
			}
			c.reportUnusable(&funcs[i], class, n)
		}
		i += n
	}
	if dead.count == 0 {
		return
	}
	f := &funcs[dead.first]
	rec := p.RecordAt(f.Off, f.Line)
	spot := lint.At(funcAddressZero, rec, addrSpan(p, rec))
	spot.Count = dead.count
	p.Report(spot, func(x *lint.Finding) {
		at(x, f.Addr)
		x.Function = funcName(p, f.Off)
		x.Message = fmt.Sprintf("%s is at %#x, which stands for discarded code", shortName(x.Function), f.Addr)
		if dead.count > 1 {
			x.Subject = "discarded code"
			x.Message = fmt.Sprintf("%d functions (%#x bytes) are at addresses that stand for discarded code; the first is %s at %#x",
				dead.count, dead.bytes, shortName(x.Function), f.Addr)
		}
		if dead.count == len(funcs) {
			x.Message += "; the file has no others"
		}
	})
}

func (c *funcChecker) reportUnusable(f *symfile.FuncEntry, class funcClass, n int) {
	p := c.pass
	rec := p.RecordAt(f.Off, f.Line)
	spot := lint.At(funcZeroSize, rec, sizeSpan(p, rec))
	if class == funcWrapping {
		spot.Rule = funcWraps
	}
	spot.Count = n
	p.Report(spot, func(x *lint.Finding) {
		at(x, f.Addr)
		x.Function = funcName(p, f.Off)
		name, rest := shortName(x.Function), ""
		if n > 1 {
			rest = " and the " + plural(n-1, "function") + " behind it"
		}
		switch {
		case class == funcWrapping:
			x.Message = fmt.Sprintf("%s at %#x with %#x bytes%s: the end lies beyond the last address", name, f.Addr, f.Size, rest)
		case n > 1:
			x.Message = fmt.Sprintf("%s at %#x%s have size 0", name, f.Addr, rest)
		default:
			x.Message = fmt.Sprintf("%s at %#x has size 0", name, f.Addr)
		}
		if f.Lines {
			x.Message += "; its lines are lost with it"
		}
	})
}

// reportOrder reports every step down in the addresses of FUNC records. Those without a usable address do not count.
func (c *funcChecker) reportOrder() {
	p := c.pass
	var prev *symfile.FuncEntry
	for i := range p.Index.Funcs {
		f := &p.Index.Funcs[i]
		if class := classOf(f.Addr, f.Size); class == funcTombstone || class == funcWrapping {
			continue
		}
		if prev != nil && f.Addr < prev.Addr {
			rec := p.RecordAt(f.Off, f.Line)
			before := *prev
			p.Report(lint.At(funcOrder, rec, addrSpan(p, rec)), func(x *lint.Finding) {
				at(x, f.Addr)
				x.Function = funcName(p, f.Off)
				x.Message = fmt.Sprintf("%s at %#x follows %s at %#x", shortName(x.Function), f.Addr,
					shortName(funcName(p, before.Off)), before.Addr)
				x.Related = relatedRecord(p, before.Off, before.Line, "the function before it")
			})
		}
		prev = f
	}
}

// reportWithoutLines counts functions without lines of which both neighbours in the file have some.
func (c *funcChecker) reportWithoutLines() {
	p := c.pass
	funcs := p.Index.Funcs
	first, count, bytes := -1, 0, uint64(0)
	for i := 1; i+1 < len(funcs); i++ {
		f := &funcs[i]
		if f.Lines || !funcs[i-1].Lines || !funcs[i+1].Lines || classOf(f.Addr, f.Size) != funcPlain {
			continue
		}
		if f.Addr == funcs[i-1].Addr || f.Addr == funcs[i+1].Addr {
			continue // another name of the same code, which has the lines
		}
		if string(symfile.RecordText(p.Data, f.Off)) == string(symfile.RecordText(p.Data, funcs[i+1].Off)) {
			continue // parts of one function: the last one is given all its lines
		}
		if first < 0 {
			first = i
		}
		count++
		bytes += f.Size
	}
	if count == 0 {
		return
	}
	f := &funcs[first]
	rec := p.RecordAt(f.Off, f.Line)
	spot := lint.At(funcWithoutLines, rec, rec.Text)
	spot.Count = count
	p.Report(spot, func(x *lint.Finding) {
		at(x, f.Addr)
		x.Function = funcName(p, f.Off)
		x.Message = fmt.Sprintf("%s has no line records although the functions around it have", shortName(x.Function))
		if count > 1 {
			x.Message = fmt.Sprintf("%d functions (%#x bytes) have no line records although those around them have; the first is %s",
				count, bytes, shortName(x.Function))
			x.Subject = "functions without lines"
		}
	})
}
