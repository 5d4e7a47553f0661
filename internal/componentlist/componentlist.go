// Package componentlist reads the list of the component files of Cluster API and its
// providers, deploy/clusterapi/components.txt, which tools/capi writes: a release ships
// these files, and a hub installs them and no others.
//
// It reads only the list. cmd/release takes the files that tools/capi makes, hub/clusterapi
// those that a command brings.
package componentlist

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Path is where the list is, below the folder deploy.
const Path = "clusterapi/components.txt"

// Component is one component file.
type Component struct {
	// Name is that of a provider, such as core or infrastructure-aws.
	Name, Version string
	// Digest is the SHA-256 of the file in hexadecimal, Size its length in bytes.
	Digest string
	Size   int64
	// Namespace is where its manager runs, and Image the manager's image without the tag,
	// which is the version.
	Namespace, Image string
	// Secret in the namespace has the credentials of the provider and is not in the file;
	// empty is none.
	Secret string
}

// none stands for a field that is empty.
const none = "-"

// Parse reads a list.
func Parse(text string) ([]Component, error) {
	var all []Component
	for number, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		sum, err := hex.DecodeString(fields[0])
		if len(fields) != 7 || err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("%s, line %d: want digest, size, name, version, namespace, image and Secret", Path, number+1)
		}
		size, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", Path, number+1, err)
		}
		c := Component{Digest: fields[0], Size: size, Name: fields[2], Version: fields[3], Namespace: fields[4], Image: fields[5]}
		if fields[6] != none {
			c.Secret = fields[6]
		}
		all = append(all, c)
	}
	return all, nil
}

// File is the name of the file.
func (c Component) File() string { return c.Name + ".yaml" }
