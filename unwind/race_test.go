//go:build race

package unwind

// raceDetector: it moves to the heap what otherwise stays on the stack.
const raceDetector = true
