package chartindex

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/axle-cd/axle/internal/errcode"
)

// Version is one version of a chart in the index.
type Version struct {
	Chart, Version string
	// URL may be relative to the index.
	URL string
	// Digest is the SHA-256 of the archive in hex; empty when the index has
	// none.
	Digest     string
	Created    time.Time
	Deprecated bool
}

// Index holds the versions of all charts of one repository. It is immutable.
type Index struct {
	text    []byte // all names, versions and URLs, one after the other
	charts  []chart
	rows    []row
	skipped int
}

type chart struct {
	name     span
	from, to uint32 // of rows
}

type span struct{ at, n uint32 }

type row struct {
	version, url span
	digest       [32]byte
	created      int64 // seconds since 1970
	flags        uint8
}

const (
	hasDigest = 1 << iota
	deprecated
	removed
)

func (x *Index) str(s span) string { return string(x.text[s.at : s.at+s.n]) }

// Charts returns how many charts there are.
func (x *Index) Charts() int { return len(x.charts) }

// Versions returns how many versions there are, of all charts.
func (x *Index) Versions() int { return len(x.rows) }

// Skipped returns how many entries had no version or no URL.
func (x *Index) Skipped() int { return x.skipped }

// Bytes returns approximately the memory of the index.
func (x *Index) Bytes() int { return cap(x.text) + cap(x.rows)*64 + cap(x.charts)*16 }

// Find returns the version of a chart that Helm would select for a range: the
// version of exactly that name if there is one, otherwise the newest in the
// range. An empty range is "*". Pre-releases are selected only by a range that
// names one. errcode.Unprocessable.
func (x *Index) Find(name, wanted string) (Version, error) {
	i, found := slices.BinarySearchFunc(x.charts, name, func(c chart, n string) int { return strings.Compare(x.str(c.name), n) })
	if !found {
		return Version{}, errcode.New(errcode.Unprocessable, "the repository has no chart %.200q", name)
	}
	rows := x.rows[x.charts[i].from:x.charts[i].to]
	if wanted == "" {
		wanted = "*"
	}
	_, err := semver.NewVersion(wanted)
	for _, r := range rows {
		if err != nil || x.str(r.version) != wanted {
			continue
		}
		if r.flags&removed != 0 {
			return Version{}, errcode.New(errcode.Unprocessable, "version %s of chart %s was withdrawn by its maintainers; choose another", wanted, name)
		}
		return x.version(name, r), nil
	}
	var versions []string
	for _, r := range rows {
		if r.flags&removed == 0 {
			versions = append(versions, x.str(r.version))
		}
	}
	best, err := Newest(wanted, versions)
	if err != nil {
		return Version{}, err
	}
	if best == "" {
		return Version{}, errcode.New(errcode.Unprocessable, "chart %s has no version in %q; the newest is %s", name, wanted, newestOf(versions))
	}
	for _, r := range rows {
		if r.flags&removed == 0 && x.str(r.version) == best {
			return x.version(name, r), nil
		}
	}
	return Version{}, errcode.New(errcode.Internal, "version %s was selected but is not in the index", best)
}

func (x *Index) version(name string, r row) Version {
	v := Version{Chart: name, Version: x.str(r.version), URL: x.str(r.url), Deprecated: r.flags&deprecated != 0}
	if r.flags&hasDigest != 0 {
		v.Digest = hex.EncodeToString(r.digest[:])
	}
	if r.created != 0 {
		v.Created = time.Unix(r.created, 0).UTC()
	}
	return v
}

// Newest returns the highest of the versions in a range, empty when there is
// none. Names that are not versions are skipped. errcode.Unprocessable for an
// invalid range.
func Newest(wanted string, versions []string) (string, error) {
	c, err := semver.NewConstraint(wanted)
	if err != nil {
		return "", errcode.New(errcode.Unprocessable, "%.100q is neither a version nor a range of versions; write one like 1.2.3, 1.2.x or >=1.2 <2", wanted)
	}
	best, text := (*semver.Version)(nil), ""
	for _, name := range versions {
		v, err := semver.NewVersion(name)
		if err != nil || !c.Check(v) {
			continue
		}
		if best == nil || v.GreaterThan(best) {
			best, text = v, name
		}
	}
	return text, nil
}

// newestOf is for messages, and includes pre-releases.
func newestOf(versions []string) string {
	text, err := Newest(">=0.0.0-0", versions)
	if err != nil || text == "" {
		return "unknown"
	}
	return text
}
