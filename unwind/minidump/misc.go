package minidump

// Sizes of the versions of MINIDUMP_MISC_INFO.
const (
	miscSize1 = 24
	miscSize2 = 44
	miscSize3 = 232
	miscSize4 = 832
	miscSize5 = 1364

	miscXStateFeatures = 64
)

// Bits of MiscInfo.Flags: which fields count.
const (
	MiscProcessID     = 1
	MiscProcessTimes  = 2
	MiscPowerInfo     = 4
	MiscIntegrity     = 0x10
	MiscExecuteFlags  = 0x20
	MiscTimeZone      = 0x40
	MiscProtected     = 0x80
	MiscBuildString   = 0x100
	MiscProcessCookie = 0x200
)

// MiscInfo is the MiscInfo stream. Fields behind Size, and those whose bit of Flags is not set, say nothing.
type MiscInfo struct {
	Size  uint32 // 24, 44, 232, 832, 1364 or more: which version it is
	Flags uint32

	ProcessID                        uint32
	CreateTime, UserTime, KernelTime uint32 // seconds since 1970; seconds

	MaxMHz, CurrentMHz, LimitMHz, MaxIdleState, CurrentIdleState uint32

	IntegrityLevel, ExecuteFlags, Protected uint32

	TimeZoneID                 uint32
	Bias                       int32 // minutes
	StandardName, DaylightName string

	BuildString, DebugBuildString string

	XStateContextSize uint32
	XStateEnabled     uint64
	XState            [miscXStateFeatures]XStateFeature
	Cookie            uint32
}

// XStateFeature is where a feature's registers lie in an extended context.
type XStateFeature struct{ Offset, Size uint32 }

func (f *File) readMiscInfo() {
	s := f.open(StreamMiscInfo)
	if s == nil {
		return
	}
	known := min(s.Size, miscSize5) // of a version newer than those above, only what is known must be in the file
	switch known {
	case miscSize1, miscSize2, miscSize3, miscSize4, miscSize5:
		s.load(known)
	default:
		s.fail(0, "size is %d, want 24, 44, 232, 832, 1364 or more", s.Size)
	}
	if s.err == nil && s.r.order.Uint32(s.b) != s.Size {
		s.fail(0, "says it has %d bytes, but the directory says %d", s.r.order.Uint32(s.b), s.Size)
	}
	if s.err != nil {
		f.MiscErr = s.err
		return
	}
	c := s.cursor(0)
	m := &MiscInfo{
		Size: c.u32(), Flags: c.u32(), ProcessID: c.u32(), CreateTime: c.u32(), UserTime: c.u32(), KernelTime: c.u32(),
	}
	if known >= miscSize2 {
		m.MaxMHz, m.CurrentMHz, m.LimitMHz, m.MaxIdleState, m.CurrentIdleState = c.u32(), c.u32(), c.u32(), c.u32(), c.u32()
	}
	if known >= miscSize3 {
		m.IntegrityLevel, m.ExecuteFlags, m.Protected, m.TimeZoneID = c.u32(), c.u32(), c.u32(), c.u32()
		// TIME_ZONE_INFORMATION: two names of 32 units, each with a date of 16 bytes and a bias.
		m.Bias = int32(c.u32())
		m.StandardName = s.r.utf16z(c.take(64))
		c.take(16 + 4)
		m.DaylightName = s.r.utf16z(c.take(64))
		c.take(16 + 4)
	}
	if known >= miscSize4 {
		m.BuildString = s.r.utf16z(c.take(520))
		m.DebugBuildString = s.r.utf16z(c.take(80))
	}
	if known >= miscSize5 {
		c.take(4)
		m.XStateContextSize, m.XStateEnabled = c.u32(), c.u64()
		for i := range m.XState {
			m.XState[i] = XStateFeature{c.u32(), c.u32()}
		}
		m.Cookie = c.u32()
	}
	f.Misc = m
}
