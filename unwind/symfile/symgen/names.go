package symgen

import "math/rand/v2"

// namer makes up names: C++ ones as a demangler prints them, C ones, and paths.
type namer struct{ *rand.Rand }

var (
	namespaces = []string{"base", "net", "media", "storage", "content", "rendering", "crypto", "ipc", "blink", "v8::internal", "viz", "gpu", "ui", "views", "audio",
		"(anonymous namespace)", "detail", "internal", "util", "geometry", "text", "json", "http2", "quic", "sql", "mojo", "webrtc", "skia", "icu", "protobuf"}
	nouns = []string{"Buffer", "Cache", "Channel", "Client", "Connection", "Context", "Controller", "Cursor", "Decoder", "Delegate", "Device", "Dispatcher",
		"Document", "Element", "Encoder", "Entry", "Event", "Factory", "Fence", "Filter", "Frame", "Glyph", "Graph", "Handle", "Handler", "Header", "Host", "Image",
		"Index", "Iterator", "Key", "Layer", "Layout", "List", "Loader", "Manager", "Map", "Matrix", "Message", "Metric", "Mutex", "Node", "Object", "Observer",
		"Packet", "Page", "Parser", "Path", "Pipe", "Policy", "Pool", "Port", "Process", "Profile", "Proxy", "Query", "Queue", "Record", "Region", "Registry",
		"Request", "Resource", "Response", "Result", "Ring", "Router", "Sampler", "Scheduler", "Scope", "Segment", "Server", "Service", "Session", "Shader", "Socket",
		"Source", "State", "Storage", "Stream", "Style", "Surface", "Table", "Task", "Texture", "Thread", "Timer", "Token", "Track", "Transform", "Tree", "Value",
		"Vector", "View", "Visitor", "Widget", "Window", "Worker", "Writer"}
	verbs = []string{"Accept", "Acquire", "Add", "Append", "Apply", "Attach", "Begin", "Bind", "Build", "Cancel", "Clear", "Close", "Commit", "Compute",
		"Connect", "Convert", "Copy", "Create", "Decode", "Delete", "Destroy", "Detach", "Did", "Dispatch", "Draw", "Emit", "Encode", "End", "Ensure", "Erase",
		"Evict", "Fetch", "Find", "Finish", "Flush", "Get", "Handle", "Has", "Init", "Insert", "Invalidate", "Is", "Load", "Lock", "Lookup", "Make", "Mark", "Merge",
		"Move", "Notify", "On", "Open", "Parse", "Post", "Prepare", "Process", "Push", "Read", "Register", "Release", "Remove", "Render", "Reset", "Resize", "Resolve",
		"Run", "Schedule", "Send", "Set", "Should", "Start", "Stop", "Submit", "Swap", "Sync", "Update", "Validate", "Visit", "Wait", "Will", "Write"}
	scalars = []string{"int", "unsigned int", "unsigned long", "long", "bool", "char", "float", "double", "unsigned char", "short", "char const*", "void*",
		"std::nullptr_t", "wchar_t"}
	stems = []string{"png", "jpeg", "ssl", "evp", "bn", "sqlite3", "xml", "z", "ft", "hb", "opus", "vpx", "av1", "uv", "ares", "event", "nghttp2", "cmsx", "snd",
		"pa", "usb", "drm", "gl", "egl", "wl"}
	actions = []string{"alloc", "attach", "close", "copy", "create", "decode", "destroy", "dup", "encode", "fill", "find", "finish", "flush", "free", "get", "init",
		"insert", "merge", "next", "open", "parse", "peek", "poll", "push", "read", "release", "reset", "seek", "set", "start", "step", "stop", "sync", "update",
		"verify", "write"}
	things = []string{"block", "buffer", "bytes", "chunk", "codec", "context", "cookie", "entry", "field", "frame", "group", "handle", "header", "info", "key",
		"list", "mask", "node", "object", "packet", "page", "params", "point", "ptr", "queue", "record", "region", "row", "state", "stream", "string", "table",
		"tree", "value", "window"}
	folders = []string{"base", "base/containers", "base/memory", "base/task", "content/browser", "content/renderer", "components/policy", "components/sync",
		"media/audio", "media/filters", "net/base", "net/http", "net/quic", "services/network", "third_party/icu/source", "third_party/skia/src/core",
		"third_party/webrtc/pc", "ui/gfx", "ui/views", "v8/src/compiler", "v8/src/heap", "storage/leveldb", "gpu/command_buffer"}
)

func (n namer) pick(from []string) string { return from[n.IntN(len(from))] }

// class appends a qualified class name such as net::detail::SocketPool.
func (n namer) class(t *text) {
	for range 1 + n.IntN(2) {
		t.str(n.pick(namespaces))
		t.str("::")
	}
	t.str(n.pick(nouns))
	t.str(n.pick(nouns))
}

// parameter appends a type as parameters have them; depth bounds how deep templates nest.
func (n namer) parameter(t *text, depth int) {
	if n.IntN(10) < 3 {
		t.str(n.pick(scalars))
		return
	}
	n.object(t, depth)
	t.str([]string{"*", " const&", "&&", "", ""}[n.IntN(5)])
}

// object appends an object type.
func (n namer) object(t *text, depth int) {
	if depth == 0 {
		n.class(t)
		return
	}
	switch n.IntN(7) {
	case 0:
		t.str("std::vector<")
		n.withPolicy(t, ", std::allocator<", depth)
	case 1:
		t.str("std::unique_ptr<")
		n.withPolicy(t, ", std::default_delete<", depth)
	case 2:
		t.str("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >")
	case 3:
		t.str("base::RepeatingCallback<void (")
		n.parameter(t, depth-1)
		t.str(")")
		t.closeAngle()
	default:
		n.class(t)
	}
}

// withPolicy appends an element type and, behind policy, the same type again, and ends both argument lists.
func (n namer) withPolicy(t *text, policy string, depth int) {
	at := len(*t)
	n.object(t, depth-1)
	element := (*t)[at:]
	t.str(policy)
	t.bytes(element)
	t.closeAngle()
	t.closeAngle()
}

// closeAngle ends a template argument list, with the blank that demanglers put between two brackets.
func (t *text) closeAngle() {
	if (*t)[len(*t)-1] == '>' {
		t.space()
	}
	*t = append(*t, '>')
}

// method appends the name of a C++ function with its parameters.
func (n namer) method(t *text, depth int) {
	n.class(t)
	if n.IntN(4) == 0 {
		t.str("<")
		n.object(t, depth)
		t.closeAngle()
	}
	t.str("::")
	t.str(n.pick(verbs))
	t.str(n.pick(nouns))
	if n.IntN(3) == 0 {
		t.str(n.pick(nouns))
	}
	t.str("(")
	for i := range n.IntN(4 + depth/2) {
		if i > 0 {
			t.str(", ")
		}
		n.parameter(t, depth)
	}
	t.str(")")
	if n.IntN(4) == 0 {
		t.str(" const")
	}
}

// plain appends the name of a C function.
func (n namer) plain(t *text) {
	t.str(n.pick(stems))
	t.str("_")
	t.str(n.pick(actions))
	t.str("_")
	t.str(n.pick(things))
	if n.IntN(3) == 0 {
		t.str("_")
		t.str(n.pick(things))
	}
}

// path appends a source path below root, its parts joined by sep; number keeps it apart from all others.
func (n namer) path(t *text, root, sep string, number int) {
	t.str(root)
	for _, c := range []byte(n.pick(folders)) {
		if c == '/' {
			t.str(sep)
		} else {
			*t = append(*t, c)
		}
	}
	t.str(sep)
	t.str(n.pick(actions))
	t.str("_")
	t.str(n.pick(things))
	t.str("_")
	t.dec(number)
	t.str([]string{".cc", ".cc", ".cpp", ".h", ".h"}[n.IntN(5)])
}
