// Package lint defines what a finding is: rules with their documentation, severities, locations, and the Runner
// that leads files through checkers and hands on ordered findings.
package lint

import "fmt"

// Severity ranks findings. Error: a consumer loses or corrupts data, or a walk goes wrong. Warning: suspicious,
// likely wrong. Info: style or portability.
type Severity uint8

// The severities, in ascending order; Off disables a rule.
const (
	Off Severity = iota
	Info
	Warning
	Error
)

var severityNames = [...]string{"off", "info", "warning", "error"}

// String returns the name used in configuration and output.
func (s Severity) String() string {
	if int(s) < len(severityNames) {
		return severityNames[s]
	}
	return fmt.Sprintf("Severity(%d)", uint8(s))
}

// ParseSeverity reads a severity's name.
func ParseSeverity(name string) (Severity, error) {
	for i, n := range severityNames {
		if n == name {
			return Severity(i), nil
		}
	}
	return Off, fmt.Errorf("unknown severity %q (want error, warning, info or off)", name)
}

// MarshalText writes the severity's name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a severity's name.
func (s *Severity) UnmarshalText(b []byte) error {
	v, err := ParseSeverity(string(b))
	if err == nil {
		*s = v
	}
	return err
}
