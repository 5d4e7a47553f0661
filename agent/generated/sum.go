package generated

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// digestText matches the usual checksums.
var digestText = regexp.MustCompile(`^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$`)

// splitChecksums separates the annotations that are checksums: they follow the
// content that they were computed from. Without a Secret or ConfigMap that they could
// be computed from, they count as values like others.
func splitChecksums(locations []*location, holders []*generates) (checksums, values []*location) {
	if !slices.ContainsFunc(holders, (*generates).isSource) {
		return nil, locations
	}
	for _, p := range locations {
		if p.isChecksum() {
			checksums = append(checksums, p)
		} else {
			values = append(values, p)
		}
	}
	return checksums, values
}

func (p *location) isChecksum() bool {
	all := steps(p.pointer)
	if len(all) < 3 || all[len(all)-2] != "annotations" || all[len(all)-3] != "metadata" {
		return false
	}
	text, _ := p.fresh.(string)
	return digestText.MatchString(text) || text != "" && strings.Contains(strings.ToLower(all[len(all)-1]), "checksum")
}

// isSource reports whether checksums are usually computed from such an object.
func (g *generates) isSource() bool { return g.isSecret() || g.isConfigMap() }

// checksumOf is a digest of the Secrets and ConfigMaps with generated values.
func checksumOf(holders []*generates) string {
	var texts []string
	for _, g := range holders {
		if !g.isSource() {
			continue
		}
		o := g.object
		// Encoding sorts the keys; data was parsed from JSON.
		text, _ := json.Marshal([]any{o.GetKind(), o.GetNamespace(), o.GetName(), o.Object["data"], o.Object["stringData"], o.Object["binaryData"]})
		texts = append(texts, string(text))
	}
	slices.Sort(texts)
	sum := sha256.Sum256([]byte(strings.Join(texts, "\n")))
	return hex.EncodeToString(sum[:])
}

// cut shortens a digest to the length of the rendered one, if possible.
func cut(sum string, fresh any) string {
	if text, ok := fresh.(string); ok && digestText.MatchString(text) && len(text) < len(sum) {
		return sum[:len(text)]
	}
	return sum
}
