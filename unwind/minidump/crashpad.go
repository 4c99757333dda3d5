package minidump

const (
	crashpadMinSize       = 52
	crashpadLinkSize      = 12
	crashpadModuleSize    = 28
	crashpadObjectSize    = 12
	crashpadAnnotationStr = 1 // type of annotation objects that are texts
)

// CrashpadInfo is the CrashpadInfo stream.
type CrashpadInfo struct {
	Version            uint32
	ReportID, ClientID GUID
	SimpleAnnotations  []Annotation
	Modules            []CrashpadModule
	AddressMask        uint64 // bits of pointers that are addresses; 0: all
}

// Annotation is a key with a value. Of equal keys in one dictionary the first counts, others are left out.
type Annotation struct{ Key, Value string }

// CrashpadModule is what a module said about itself.
type CrashpadModule struct {
	Index             uint32 // in File.Modules; may be out of range
	Version           uint32
	ListAnnotations   []string
	SimpleAnnotations []Annotation
	Objects           []AnnotationObject
}

// AnnotationObject is a typed annotation.
type AnnotationObject struct {
	Name  string
	Type  uint16
	Value []byte // a view
}

// IsText reports whether the value is a text.
func (o *AnnotationObject) IsText() bool { return o.Type == crashpadAnnotationStr }

func (f *File) readCrashpad() {
	s := f.openLoose(StreamCrashpadInfo)
	if s == nil {
		return
	}
	info := crashpadInfo(s)
	if s.err == nil || f.reader.lenient {
		f.Crashpad = info
	}
	f.CrashpadErr = s.err
}

func crashpadInfo(s *stream) *CrashpadInfo {
	if !s.atLeast(crashpadMinSize) {
		return nil
	}
	c := s.cursor(0)
	info := &CrashpadInfo{Version: c.u32(), ReportID: c.guid(), ClientID: c.guid()}
	simple, modules := c.location(), c.location()
	if len(c.b) >= 12 {
		c.take(4)
		info.AddressMask = c.u64()
	}
	info.SimpleAnnotations = s.dictionary(simple)
	b, n := s.counted(modules, crashpadLinkSize)
	for i := range n {
		c := cursor{b[i*crashpadLinkSize:], s.r.order}
		index, loc := c.u32(), c.location()
		b, ok := s.r.view(uint64(loc.RVA), crashpadModuleSize)
		if !ok {
			s.failAt(uint64(loc.RVA), "information on module %d lies outside the file", index)
			continue
		}
		c = cursor{b, s.r.order}
		m := CrashpadModule{Index: index, Version: c.u32()}
		list, simple, objects := c.location(), c.location(), c.location()
		m.ListAnnotations = s.textList(list)
		m.SimpleAnnotations = s.dictionary(simple)
		m.Objects = s.objects(objects)
		info.Modules = append(info.Modules, m)
		if s.err != nil {
			break
		}
	}
	return info
}

// counted reads a count and returns that many entries behind it. Only whether it is zero matters of the location's
// size.
func (s *stream) counted(loc Location, entry int) ([]byte, int) {
	if loc.Size == 0 || s.err != nil {
		return nil, 0
	}
	b, ok := s.r.view(uint64(loc.RVA), 4)
	if !ok {
		s.failAt(uint64(loc.RVA), "list lies outside the file")
		return nil, 0
	}
	n := s.r.order.Uint32(b)
	b, ok = s.r.view(uint64(loc.RVA)+4, uint64(n)*uint64(entry))
	// Lists share nothing in real dumps; what they add up to is held against the size of the file.
	if !ok || !s.r.spend(int(n)*entry*4) {
		s.failAt(uint64(loc.RVA), "%d entries run past the end of the file", n)
		return nil, 0
	}
	return b, int(n)
}

func (s *stream) text(rva uint32) (string, bool) {
	text, problem := s.r.utf8At(uint64(rva))
	if problem != "" {
		return "", s.failAt(uint64(rva), "%s", problem)
	}
	return text, true
}

func (s *stream) textList(loc Location) []string {
	b, n := s.counted(loc, 4)
	var list []string
	for i := range n {
		text, ok := s.text(s.r.order.Uint32(b[4*i:]))
		if !ok {
			break
		}
		list = append(list, text)
	}
	return list
}

func (s *stream) dictionary(loc Location) []Annotation {
	b, n := s.counted(loc, 8)
	var list []Annotation
	seen := make(map[string]bool)
	for i := range n {
		c := cursor{b[8*i:], s.r.order}
		key, ok := s.text(c.u32())
		if !ok {
			break
		}
		value, ok := s.text(c.u32())
		if !ok {
			break
		}
		if !seen[key] {
			list = append(list, Annotation{key, value})
		}
		seen[key] = true
	}
	return list
}

func (s *stream) objects(loc Location) []AnnotationObject {
	b, n := s.counted(loc, crashpadObjectSize)
	var list []AnnotationObject
	for i := range n {
		c := cursor{b[crashpadObjectSize*i:], s.r.order}
		nameRVA, kind := c.u32(), c.u16()
		c.take(2)
		valueRVA := uint64(c.u32())
		name, ok := s.text(nameRVA)
		if !ok {
			break
		}
		head, ok := s.r.view(valueRVA, 4)
		var value []byte
		if ok {
			value, ok = s.r.view(valueRVA+4, uint64(s.r.order.Uint32(head)))
		}
		if !ok {
			s.failAt(valueRVA, "value of annotation %q lies outside the file", name)
			break
		}
		list = append(list, AnnotationObject{name, kind, value})
	}
	return list
}
