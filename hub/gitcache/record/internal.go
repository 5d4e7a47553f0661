package record

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// followedPrefix and chartsPrefix begin the names of the repositories that the hub
	// follows by itself: for another repository, and for services that give the URL of a
	// chart repository. People cannot give such a name, because it has a slash.
	followedPrefix = "/followed/"
	chartsPrefix   = "/charts/"
	// formerFollowed and formerCharts began them when people could give them.
	formerFollowed = "followed-"
	formerCharts   = "charts-"
)

// InternalNames returns the names of what is followed for the repository with the id
// parentID, or for services when it is empty: the present one and the former one.
func InternalNames(parentID string, kind Kind, url string) (name, former string) {
	of, prefix, formerly := parentID+"\x00"+string(kind)+"\x00"+url, followedPrefix, formerFollowed
	if parentID == "" {
		of, prefix, formerly = url, chartsPrefix, formerCharts
	}
	sum := sha256.Sum256([]byte(of))
	hash := hex.EncodeToString(sum[:8])
	return prefix + hash, formerly + hash
}

// ForAnother reports whether the hub follows a repository for another one.
func (r Repository) ForAnother() bool {
	return r.Options.Internal && (strings.HasPrefix(r.Name, followedPrefix) || strings.HasPrefix(r.Name, formerFollowed))
}
