//go:build !race

package postfix

const raceDetector = false
