package references

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"
)

// dependency is one entry of dependencies in a Chart.yaml, a requirements.yaml or a lock. Its
// JSON, in this order of fields, is what Helm's digest of a lock is taken of.
type dependency struct {
	Name         string   `json:"name"`
	Version      string   `json:"version,omitempty"`
	Repository   string   `json:"repository"`
	Condition    string   `json:"condition,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	Enabled      bool     `json:"enabled,omitempty"`
	ImportValues []any    `json:"import-values,omitempty"`
	Alias        string   `json:"alias,omitempty"`
}

// chartLock is a Chart.lock or a requirements.lock beside its chart. The zero value locks
// nothing.
type chartLock struct {
	Digest       string        `json:"digest"`
	Dependencies []*dependency `json:"dependencies"`

	// stale is set when the digest is of other dependencies than the chart's.
	stale bool
}

// readLock reads a lock and compares it with the chart that it locks. One that is no YAML
// locks nothing.
func readLock(raw, lock []byte) chartLock {
	var l chartLock
	var chart struct {
		Dependencies []*dependency `json:"dependencies"`
	}
	if len(lock) == 0 || yaml.Unmarshal(lock, &l) != nil {
		return chartLock{}
	}
	if l.Digest == "" || yaml.Unmarshal(raw, &chart) != nil {
		return l
	}
	// Helm 2 took the digest of the chart's dependencies without the locked ones.
	l.stale = l.Digest != lockDigest([2][]*dependency{chart.Dependencies, l.Dependencies}) &&
		l.Digest != lockDigest(map[string][]*dependency{"dependencies": chart.Dependencies})
	return l
}

func lockDigest(of any) string {
	text, err := json.Marshal(of)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// version returns the version that is locked for the chart's dependency at an index, empty
// if there is none, or how the lock contradicts the chart. Helm refuses such a lock too:
// following either file would deploy what the author of the other did not want.
func (l chartLock) version(index int, name, url, wanted string) (version, problem string) {
	const mend = "; run helm dependency update and commit both files"
	if l.stale {
		return "", "has a lock that is out of sync with the chart" + mend
	}
	var other string
	for i, d := range l.Dependencies {
		switch {
		case d == nil || d.Name != name:
			continue
		case trimURL(d.Repository) != trimURL(url):
			other = d.Repository
			continue
		case version == "" || i == index: // one chart may be there twice, by aliases
			version = d.Version
		}
	}
	switch {
	case version == "" && other != "":
		return "", fmt.Sprintf("is locked from another repository, %.200q%s", other, mend)
	case version != "" && l.Digest == "" && excludes(wanted, version):
		return "", fmt.Sprintf("is locked at version %.100q, which %.100q excludes%s", version, wanted, mend)
	}
	return version, ""
}

// excludes reports whether a range excludes a version. A range or version that is none
// excludes nothing: the repository has the better error.
func excludes(wanted, version string) bool {
	if wanted == "" || wanted == version {
		return false
	}
	in, err := semver.NewConstraint(wanted)
	if err != nil {
		return false
	}
	v, err := semver.NewVersion(version)
	return err == nil && !in.Check(v)
}
