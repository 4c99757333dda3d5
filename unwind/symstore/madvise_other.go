//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package symstore

// madvise is of use on Linux only: elsewhere clean pages of files leave memory soon enough.
func madvise([]byte) error { return nil }
