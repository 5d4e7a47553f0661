// Package bundled has the files that the hub itself makes for services, in place of
// those of an upstream: the manifests of managed namespaces, and the Secrets of applications.
//
// A service gets them like those of a repository. Its spec names them by a URL and
// their digest, and the id of its source contains the digest, so that the content of
// a source never changes, whatever version of the hub reads it. The hub's wiring
// answers for such sources; it keeps the tarballs in the database, for replicas of
// other versions.
//
// It stores nothing and knows no service. Values come from a service's configuration.
package bundled

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/tarball"
)

// The URLs of the manifests of managed namespaces and of the Secrets of applications.
const (
	NamespaceURL   = "hub:namespace"
	ApplicationURL = "hub:application"
)

// The keys of the configuration that the manifests of a namespace take: JSON of the
// metadata of the namespace and of its default service account, and a JSON list of
// image pull secrets, empty for none.
const (
	Metadata    = "metadata"
	Account     = "account"
	PullSecrets = "pullSecrets"
)

// SecretData is the key of the configuration that the Secret of an application takes beside
// Metadata: JSON of its data.
const SecretData = "data"

var (
	//go:embed namespace.yaml.liquid
	namespace string
	//go:embed application.yaml.liquid
	application string
)

// Files are the files of a service as a tarball.
type Files struct {
	Digest  digest.Digest
	Tarball []byte
}

// Namespace returns the manifests of managed namespaces of this version of the hub.
var Namespace = sync.OnceValues(func() (Files, error) { return Pack("namespace.yaml.liquid", namespace) })

// Application returns the manifest of the Secret of an application.
var Application = sync.OnceValues(func() (Files, error) { return Pack("application.yaml.liquid", application) })

// Made returns what makes the files of a URL; nil for every URL that is not of the hub.
func Made(url string) func() (Files, error) {
	return map[string]func() (Files, error){NamespaceURL: Namespace, ApplicationURL: Application}[url]
}

// Pack makes the tarball of one file.
func Pack(name, text string) (Files, error) {
	var out bytes.Buffer
	d, _, err := tarball.Write(&out, func(yield func(tarball.Entry, error) bool) {
		yield(tarball.Entry{Path: name, Type: digest.File, Size: int64(len(text)), Body: strings.NewReader(text)}, nil)
	}, tarball.Options{Concurrency: 1})
	if err != nil {
		return Files{}, fmt.Errorf("pack %s: %w", name, err)
	}
	return Files{d, out.Bytes()}, nil
}

const sourcePrefix = "bundled:"

// Source is the id of the source with these files.
func Source(digest string) string { return sourcePrefix + digest }

// DigestOf returns the digest of the files of a source; false for every source that
// is not bundled.
func DigestOf(source string) (string, bool) { return strings.CutPrefix(source, sourcePrefix) }
