package symstore

import "syscall"

func madvise(b []byte) error { return syscall.Madvise(b, syscall.MADV_DONTNEED) }
