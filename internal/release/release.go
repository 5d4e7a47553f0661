package release

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
)

// The media types of a release. Those of signatures and attestations are cosign's.
const (
	TypeRelease = "application/vnd.axle.release.v1+json"
	// TypeComponents is that of the artifact in Components, TypeComponent of its layers.
	TypeComponents = "application/vnd.axle.cluster-api.v1"
	TypeComponent  = "application/yaml"

	typeFile      = "application/vnd.axle.release.file.v1"
	typeSignature = "application/vnd.dev.cosign.simplesigning.v1+json"
	typeDSSE      = "application/vnd.dsse.envelope.v1+json"
)

// Prefix begins the repositories of everything that we publish. They have the same
// names in every registry, so that one value, the registry, leads there.
const Prefix = "axle-cd/"

// Repository is where the list of a release lies. Its tag is the version.
const Repository = Prefix + "release"

// Components is where the component files of Cluster API lie, a layer each, with the version
// of the release as the tag.
const Components = Prefix + "cluster-api"

// Release lists what a release publishes. It is the config of the artifact in
// Repository, whose layers are the files.
type Release struct {
	Version string    `json:"version"`
	Commit  string    `json:"commit"`
	Time    time.Time `json:"time"`
	// Artifacts are the images, the charts and the component files of Cluster API.
	Artifacts []Artifact `json:"artifacts"`
	Files     []File     `json:"files"`
}

// Artifact is an image, a chart, or the component files of Cluster API.
type Artifact struct {
	// Repository is the name in a registry, such as axle-cd/axle-hub.
	Repository string        `json:"repository"`
	Tag        string        `json:"tag"`
	Digest     digest.Digest `json:"digest"`
	// Attested are the types of the statements that must lie beside the artifact, so
	// that nobody takes one away unnoticed. Empty: none was made.
	Attested []string `json:"attested,omitempty"`
}

// Ref is the name of the artifact in a layout.
func (a Artifact) Ref() string { return a.Repository + ":" + a.Tag }

// Beside is the name of what lies beside the artifact: its signature (sig) or its
// attestations (att).
func (a Artifact) Beside(what string) string {
	return a.Repository + ":" + strings.Replace(a.Digest.String(), ":", "-", 1) + "." + what
}

// File is a program, a package, a list of contents and so on.
type File struct {
	Name   string        `json:"name"`
	Digest digest.Digest `json:"digest"`
	Size   int64         `json:"size"`
}

var (
	repositoryName = regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*(/[a-z0-9]+([._-][a-z0-9]+)*)*$`)
	tagName        = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
)

// Parse reads the list of a release and checks that its names are safe to use as
// paths and tags.
func Parse(data []byte) (*Release, error) {
	r := &Release{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("the list of the release: %w", err)
	}
	if !tagName.MatchString(r.Version) || len(r.Artifacts) == 0 {
		return nil, fmt.Errorf("the list of the release has no version or no artifacts")
	}
	for _, a := range r.Artifacts {
		if !repositoryName.MatchString(a.Repository) || !tagName.MatchString(a.Tag) {
			return nil, fmt.Errorf("the list of the release: %q is no name of an image or a chart", a.Ref())
		}
		if err := a.Digest.Validate(); err != nil {
			return nil, fmt.Errorf("the list of the release: %s: %w", a.Ref(), err)
		}
	}
	for _, f := range r.Files {
		if f.Name != path.Base(f.Name) || strings.HasPrefix(f.Name, ".") || strings.ContainsAny(f.Name, `\/`) {
			return nil, fmt.Errorf("the list of the release: %q is no name of a file", f.Name)
		}
		if err := f.Digest.Validate(); err != nil {
			return nil, fmt.Errorf("the list of the release: %s: %w", f.Name, err)
		}
	}
	return r, nil
}
