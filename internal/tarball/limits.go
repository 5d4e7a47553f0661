package tarball

import (
	"fmt"
	"strings"
)

// LimitsVersion changes when the default limits do, so that results which were
// remembered under other limits are computed again.
const LimitsVersion = 1

// Limits bound what one tarball may hold. A zero field takes the default.
type Limits struct {
	Bytes int64 // of all files together, unpacked; default 1 GiB
	Files int   // files and links; default 100,000
	Depth int   // segments of a path; default 64
}

// DefaultLimits are far above what people deploy and below what hurts a hub.
var DefaultLimits = Limits{Bytes: 1 << 30, Files: 100_000, Depth: 64}

// LimitError says which limit the content exceeds.
type LimitError struct {
	Path   string // where it was noticed
	Reason string
}

// Error names the limit and the place.
func (e *LimitError) Error() string { return fmt.Sprintf("%s (at %.200q)", e.Reason, e.Path) }

// Stats describe what was written or unpacked.
type Stats struct {
	Files int   // files and links
	Bytes int64 // of all files, uncompressed
}

// take counts one entry against the limits.
func (l Limits) take(s *Stats, path string, size int64) error {
	if l.Bytes == 0 {
		l.Bytes = DefaultLimits.Bytes
	}
	if l.Files == 0 {
		l.Files = DefaultLimits.Files
	}
	if l.Depth == 0 {
		l.Depth = DefaultLimits.Depth
	}
	switch {
	case s.Files+1 > l.Files:
		return &LimitError{path, fmt.Sprintf("more than %d files", l.Files)}
	case size < 0 || size > l.Bytes-s.Bytes:
		return &LimitError{path, fmt.Sprintf("more than %d bytes", l.Bytes)}
	case strings.Count(path, "/")+1 > l.Depth:
		return &LimitError{path, fmt.Sprintf("folders nested deeper than %d", l.Depth)}
	}
	s.Files++
	s.Bytes += size
	return nil
}
