//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package symstore

import (
	"os"
	"syscall"
)

// mapFile maps a file's first size bytes. The mapping outlives the descriptor; reading it faults where the file has
// become shorter meanwhile.
func mapFile(f *os.File, size int) (data []byte, unmap func() error, err error) {
	data, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}

// forget tells the system that a part of mapped memory may leave memory again. The data stays what it is.
func forget(data []byte, from, to int) {
	page := os.Getpagesize()
	from = (from + page - 1) / page * page
	if to = to / page * page; to > from && to <= len(data) {
		_ = madvise(data[from:to])
	}
}
