//go:build !race

package unwind

const raceDetector = false
