package source

import (
	"os"
	"syscall"
)

// forget lets pages of a mapped file leave memory. The data stays what it is. It must not be called with memory that
// is not a file's, which would lose it.
func forget(data []byte, from, to int) {
	page := os.Getpagesize()
	from = (from + page - 1) / page * page
	if to = to / page * page; to > from && to <= len(data) {
		_ = syscall.Madvise(data[from:to], syscall.MADV_DONTNEED)
	}
}
