//go:build race

package main

// raceDetector: it makes everything many times as slow.
const raceDetector = true
