package report

import (
	"encoding/base64"
	"unicode/utf8"
)

// The part of SARIF 2.1.0 that symlint writes. Section numbers refer to the OASIS standard.

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	srcRoot     = "%SRCROOT%" // what GitHub takes for the root of the repository
)

// sarifMessage is a message object (3.11).
type sarifMessage struct {
	Text     string `json:"text,omitempty"`
	Markdown string `json:"markdown,omitempty"`
}

// sarifContent is an artifactContent object (3.3).
type sarifContent struct {
	Text   *string `json:"text,omitempty"`
	Binary *string `json:"binary,omitempty"`
}

// content holds text as it is and anything else in base64.
func content(b []byte) *sarifContent {
	if utf8.Valid(b) {
		s := string(b)
		return &sarifContent{Text: &s}
	}
	s := base64.StdEncoding.EncodeToString(b)
	return &sarifContent{Binary: &s}
}

// sarifArtifactLocation is an artifactLocation object (3.4).
type sarifArtifactLocation struct {
	URI       string `json:"uri"`
	URIBaseID string `json:"uriBaseId,omitempty"`
}

// sarifArtifact is an artifact object (3.24).
type sarifArtifact struct {
	Location *sarifArtifactLocation `json:"location"`
	Roles    []string               `json:"roles"`
}

// sarifRegion is a region object (3.30): of text by line and column, of binaries by byte.
type sarifRegion struct {
	StartLine   int           `json:"startLine,omitempty"`
	StartColumn int           `json:"startColumn,omitempty"`
	EndLine     int           `json:"endLine,omitempty"`
	EndColumn   int           `json:"endColumn,omitempty"` // exclusive
	ByteOffset  *int64        `json:"byteOffset,omitempty"`
	ByteLength  *int64        `json:"byteLength,omitempty"`
	Snippet     *sarifContent `json:"snippet,omitempty"`
}

// sarifAddress is an address object (3.32).
type sarifAddress struct {
	Kind     string `json:"kind"`
	Name     string `json:"name,omitempty"`
	FullName string `json:"fullyQualifiedName,omitempty"`
	Offset   *int64 `json:"offsetFromParent,omitempty"`
	Length   int64  `json:"length,omitempty"`
	Parent   *int   `json:"parentIndex,omitempty"`
}

// sarifPhysical is a physicalLocation object (3.29).
type sarifPhysical struct {
	ArtifactLocation *sarifArtifactLocation `json:"artifactLocation"`
	Region           *sarifRegion           `json:"region,omitempty"`
	Context          *sarifRegion           `json:"contextRegion,omitempty"`
	Address          *sarifAddress          `json:"address,omitempty"`
}

// sarifLogical is a logicalLocation object (3.33).
type sarifLogical struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// sarifLocation is a location object (3.28).
type sarifLocation struct {
	ID               int            `json:"id,omitempty"`
	PhysicalLocation *sarifPhysical `json:"physicalLocation"`
	Logical          []sarifLogical `json:"logicalLocations,omitempty"`
	Message          *sarifMessage  `json:"message,omitempty"`
}

// sarifFix, sarifChange and sarifReplacement are fix, artifactChange and replacement objects (3.55 to 3.57).
type sarifFix struct {
	Description sarifMessage  `json:"description"`
	Changes     []sarifChange `json:"artifactChanges"`
}

type sarifChange struct {
	ArtifactLocation *sarifArtifactLocation `json:"artifactLocation"`
	Replacements     []sarifReplacement     `json:"replacements"`
}

type sarifReplacement struct {
	Deleted  sarifRegion   `json:"deletedRegion"`
	Inserted *sarifContent `json:"insertedContent,omitempty"`
}

// sarifResult is a result object (3.27).
type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    *int              `json:"ruleIndex,omitempty"`
	Level        string            `json:"level"`
	Kind         string            `json:"kind"`
	Message      sarifMessage      `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Related      []sarifLocation   `json:"relatedLocations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Fixes        []sarifFix        `json:"fixes,omitempty"`
	Properties   map[string]any    `json:"properties"`
}

// sarifNotification is a notification object (3.58).
type sarifNotification struct {
	Level     string          `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

// sarifInvocation is an invocation object (3.20).
type sarifInvocation struct {
	ExecutionSuccessful bool                `json:"executionSuccessful"`
	Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

// sarifDriver is the toolComponent object (3.19) of symlint.
type sarifDriver struct {
	Name            string            `json:"name"`
	Version         string            `json:"version,omitempty"`
	SemanticVersion string            `json:"semanticVersion,omitempty"`
	InformationURI  string            `json:"informationUri"`
	Rules           []sarifDescriptor `json:"rules"`
}

// sarifDescriptor is a reportingDescriptor object (3.49).
type sarifDescriptor struct {
	ID      string         `json:"id"`
	Name    string         `json:"name"`
	Short   sarifMessage   `json:"shortDescription"`
	Full    sarifMessage   `json:"fullDescription"`
	Help    sarifMessage   `json:"help"`
	HelpURI string         `json:"helpUri"`
	Default sarifDefault   `json:"defaultConfiguration"`
	Props   map[string]any `json:"properties"`
}

// sarifDefault is a reportingConfiguration object (3.50).
type sarifDefault struct {
	Enabled bool   `json:"enabled"`
	Level   string `json:"level"`
}
