package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/vendored"
)

// Kind says what sort of upstream a repository is.
type Kind string

// The kinds. Recipes and rows carry the kind, so that each is followed and
// rebuilt by its own sort of agent.
const (
	Git    Kind = "git"
	Helm   Kind = "helm"   // an HTTP chart repository with an index.yaml
	OCI    Kind = "oci"    // a registry's repository: charts, or plain manifests
	Bucket Kind = "bucket" // an S3-compatible bucket
)

// AuthKind says which of the credentials an upstream is offered.
type AuthKind string

// The ways to authenticate.
const (
	AuthNone   AuthKind = ""
	AuthBasic  AuthKind = "basic"  // Username and Password
	AuthToken  AuthKind = "token"  // Password is a token; Username may be empty
	AuthSSH    AuthKind = "ssh"    // PrivateKey, and KnownHosts
	AuthApp    AuthKind = "app"    // a GitHub App: AppID, InstallationID, PrivateKey
	AuthBearer AuthKind = "bearer" // Password is sent as a bearer token
	// Without these the hub's own role is used, where Options.HubIdentity lets it.
	AuthAWS   AuthKind = "aws"   // AccessKeyID and SecretAccessKey
	AuthGCP   AuthKind = "gcp"   // ServiceAccountJSON
	AuthAzure AuthKind = "azure" // TenantID, ClientID, ClientSecret
)

// Credentials are the secrets of one repository. They are stored sealed, are
// never listed, and reach git over pipes and sockets only.
type Credentials struct {
	Username   string `json:"username,omitempty"`
	Password   string `json:"password,omitempty"`
	PrivateKey string `json:"privateKey,omitempty"` // PEM
	Passphrase string `json:"passphrase,omitempty"` // of PrivateKey
	KnownHosts string `json:"knownHosts,omitempty"` // lines of known_hosts
	CA         string `json:"ca,omitempty"`         // PEM; empty is the system's

	// ClientCertificate and ClientKey are shown to servers that ask; PEM.
	ClientCertificate string `json:"clientCertificate,omitempty"`
	ClientKey         string `json:"clientKey,omitempty"`
	// ProxyUsername and ProxyPassword go to Options.Proxy.
	ProxyUsername string `json:"proxyUsername,omitempty"`
	ProxyPassword string `json:"proxyPassword,omitempty"`

	// AppID and InstallationID name a GitHub App; PrivateKey is the App's.
	AppID          string `json:"appId,omitempty"`
	InstallationID string `json:"installationId,omitempty"`

	AccessKeyID     string `json:"accessKeyId,omitempty"`
	SecretAccessKey string `json:"secretAccessKey,omitempty"`
	SessionToken    string `json:"sessionToken,omitempty"`
	// AssumeRoleARN is taken on with the keys, or the hub's own role.
	AssumeRoleARN      string `json:"assumeRoleArn,omitempty"`
	ServiceAccountJSON string `json:"serviceAccountJson,omitempty"`
	TenantID           string `json:"tenantId,omitempty"`
	ClientID           string `json:"clientId,omitempty"`
	ClientSecret       string `json:"clientSecret,omitempty"`
}

// String keeps the secrets out of logs and messages.
func (Credentials) String() string { return "[credentials]" }

// GoString is String, for %#v.
func (Credentials) GoString() string { return "[credentials]" }

// Repository is one upstream that the hub follows. Everything from Health on
// is written by its git agent alone.
type Repository struct {
	ID        string
	Name      string // unique; what people say
	ProjectID string // empty is the default project
	Kind      Kind
	URL       string // without user or password
	Auth      AuthKind
	Options   Options
	CreatedAt time.Time
	UpdatedAt time.Time

	// Generation counts changes of URL, auth, options and credentials, so
	// that an agent notices them.
	Generation int64

	Health Health
}

// Options of a repository that are no secrets. They are stored as JSON; fields
// may be added, never change their meaning. The zero value asks for nothing.
type Options struct {
	// Proxy is the URL of an HTTP, HTTPS or SOCKS5 proxy, without user or
	// password; empty takes the hub's environment.
	Proxy string `json:"proxy,omitempty"`
	// APIURL is where a GitHub App gets its tokens; empty is derived from URL.
	APIURL string `json:"apiUrl,omitempty"`
	// Region and Endpoint of a bucket or cloud registry.
	Region   string `json:"region,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// PlainHTTP speaks http to a registry, where the hub allows it.
	PlainHTTP bool `json:"plainHttp,omitempty"`
	// PassCredentials sends credentials to other hosts that a chart index
	// names.
	PassCredentials bool `json:"passCredentials,omitempty"`
	// HubIdentity lets the hub's own role in the cloud read it. Only an
	// administrator may set it, or change a repository that has it.
	HubIdentity bool `json:"hubIdentity,omitempty"`
	// MaxBytes bounds the mirror or the kept files on disk; zero is the hub's
	// own bound.
	MaxBytes int64 `json:"maxBytes,omitempty"`
	// Moves counts changes of the URL; the store keeps it. What was read of
	// another upstream lies in another folder, so that it is never taken for
	// what this one has.
	Moves int64 `json:"moves,omitempty"`
	// Internal marks a repository that the hub follows for others, a
	// submodule or a chart's dependency; lists leave it out.
	Internal bool   `json:"internal,omitempty"`
	Verify   Verify `json:"verify,omitzero"`
}

// Verify says what must be signed by whom before a head moves. The zero value
// asks for nothing.
type Verify struct {
	// Mode is "head" or "tag" for Git, "cosign" for OCI, "provenance" for
	// Helm charts; empty verifies nothing.
	Mode string `json:"mode,omitempty"`
	// Keys are trusted public keys: OpenPGP armor, allowed-signers lines of
	// SSH, or PEM, each text may hold several.
	Keys []string `json:"keys,omitempty"`
}

// HealthState says whether the upstream could be read when last tried.
type HealthState string

// The states. A repository that was never tried is Unknown.
const (
	Unknown  HealthState = "UNKNOWN"
	Pullable HealthState = "PULLABLE"
	Failed   HealthState = "FAILED"
)

// Health is what is known of an upstream, with ages.
type Health struct {
	State   HealthState
	Message string // upstream's words when Failed, credentials masked

	CheckedAt   time.Time // last time that upstream's refs were read
	FetchedAt   time.Time // last time that objects were fetched
	FailedSince time.Time // zero unless Failed
	NextAt      time.Time // when upstream is asked next, unless a kick comes first
	Bytes       int64     // of the mirror on disk
}

// Source is what services follow. Services that follow the same thing share
// one source. What the fields say depends on the repository's kind:
//
//	git     Ref a branch, tag or full object id; Folder and Files in the tree
//	helm    Ref a version or range, empty is the newest; Folder the chart
//	oci     Ref a tag, range or digest; Folder the path inside
//	bucket  Ref empty; Folder the prefix
//
// Make it with NewSource, or settle one.
type Source struct {
	ID           string
	RepositoryID string
	Ref          string   // of Git: refs/... is exact
	Folder       string   // clean, without slashes around; empty is the root
	Files        []string // further files and folders, from the root; sorted
	Options      SourceOptions
}

// SourceOptions change what a source's content is. They are stored as JSON.
type SourceOptions struct {
	// Submodules puts the content of submodules in their places.
	Submodules bool `json:"submodules,omitempty"`
	// LFS puts the files in the places of their pointers.
	LFS bool `json:"lfs,omitempty"`
	// Bare leaves out what files name on other servers: the content as it
	// lies, for a source that is a part of another.
	Bare bool `json:"bare,omitempty"`
}

// NewSource settles a source of a Git repository without options.
func NewSource(repositoryID, ref, folder string, files []string) (Source, error) {
	return Source{RepositoryID: repositoryID, Ref: ref, Folder: folder, Files: files}.Settle(Git)
}

// Settle normalises the parts of a source and derives its ID from them: the
// same source has the same ID in every process.
func (s Source) Settle(kind Kind) (Source, error) {
	s.Ref = strings.TrimSpace(s.Ref)
	if s.RepositoryID == "" {
		return Source{}, errcode.New(errcode.Invalid, "source has no repository; set one")
	}
	switch {
	case kind == Git && s.Ref == "":
		return Source{}, errcode.New(errcode.Invalid, "source has no ref; set a branch, a tag or a full commit id")
	case kind == OCI && s.Ref == "":
		return Source{}, errcode.New(errcode.Invalid, "source has no ref; set a tag, a version range or a digest")
	case kind == Helm && s.Folder == "":
		return Source{}, errcode.New(errcode.Invalid, "source has no chart; set its name")
	}
	var err error
	if s.Folder, err = cleanPath(s.Folder); err != nil {
		return Source{}, err
	}
	var files []string
	for _, f := range s.Files {
		f, err := cleanPath(f)
		if err != nil {
			return Source{}, err
		}
		if f != "" {
			files = append(files, f)
		}
	}
	slices.Sort(files)
	s.Files = slices.Compact(files)
	s.ID = s.id()
	return s, nil
}

// cleanPath makes a path relative to the root, which is "".
func cleanPath(p string) (string, error) {
	c := strings.Trim(path.Clean("/"+strings.TrimRight(p, "/")), "/")
	if strings.HasPrefix(path.Clean(strings.TrimLeft(p, "/")), "..") {
		return "", errcode.New(errcode.Invalid, "folder %.200q leaves the repository; give a path from its root", p)
	}
	if strings.Contains(p, "\x00") || len(p) > digest.MaxPathBytes {
		return "", errcode.New(errcode.Invalid, "folder %.200q is not a path", p)
	}
	return c, nil
}

func (s Source) id() string {
	h := sha256.New()
	parts := append([]string{"source 1", s.RepositoryID, s.Ref, s.Folder}, s.Files...)
	// A NUL is in no path, so options are no file's name.
	if s.Options.Submodules {
		parts = append(parts, "\x00submodules")
	}
	if s.Options.LFS {
		parts = append(parts, "\x00lfs")
	}
	if s.Options.Bare {
		parts = append(parts, "\x00bare")
	}
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write([]byte(part))
	}
	return "src_" + hex.EncodeToString(h.Sum(nil))[:32]
}

// Head is what a source points at now. Revision to FetchedAt describe the last
// content that could be produced and stay when Error is set, so that services
// keep running what was good.
type Head struct {
	SourceID     string
	RepositoryID string

	// Revision is the commit in which the present content was first seen. A
	// later commit that leaves the content alone does not change it.
	Revision    string
	Message     string // first line of the commit's message
	Author      string // name and address as the commit has them
	CommittedAt time.Time

	Digest digest.Digest // empty when nothing could be produced yet
	Size   int64         // of the tarball as stored, in bytes
	// Entry is the source's folder inside the tarball: empty when the tarball
	// starts at the folder, longer when it had to start above it.
	Entry string
	// Key changes when the content may have changed. Opaque.
	Key string

	Epoch     int64 // lease epoch of the writer
	FetchSeq  int64 // counts fetches of the repository under that epoch
	FetchedAt time.Time

	// Error says why the source as it is now cannot be produced: what, where,
	// and what to do. ErrorCode classes it. Both empty when all is well.
	Error      string
	ErrorCode  errcode.Code
	ErrorSince time.Time

	UpdatedAt time.Time
}

// Artifact records how the tarball of a digest is made again.
type Artifact struct {
	Digest    digest.Digest
	Recipe    Recipe
	Size      int64 // stored bytes when it was made
	Files     int
	Bytes     int64 // unpacked
	CreatedAt time.Time
}

// Recipe tells any owner of a repository how to rebuild a tarball. It is
// stored as JSON; fields may be added, never change their meaning.
type Recipe struct {
	Kind         Kind     `json:"kind"`
	RepositoryID string   `json:"repository"`
	Commit       string   `json:"commit"`
	Tree         string   `json:"tree,omitempty"` // of the commit
	Folder       string   `json:"folder,omitempty"`
	Files        []string `json:"files,omitempty"`
	// Options of the source that it was made for.
	Options SourceOptions `json:"options,omitzero"`
	// Parts are further sources whose content lies under a path of this one.
	Parts []Part `json:"parts,omitempty"`
	// Vendored is the map that the tarball carries beside its parts.
	Vendored *vendored.Contents `json:"vendored,omitempty"`
}

// Part is one piece of a tarball that is made of several.
type Part struct {
	Path   string `json:"path"`
	Recipe Recipe `json:"recipe"`
	// Digest is of the part alone.
	Digest digest.Digest `json:"digest,omitempty"`
	// Within is the folder of the part that is taken, without the folder
	// itself; empty is all of it.
	Within string `json:"within,omitempty"`
}

// Pin names an artifact that must be possible to serve: it is in a current
// spec, in a kept revision, or was superseded less than a day ago.
type Pin struct {
	Digest       digest.Digest
	RepositoryID string
	Commit       string
}

// Pins returns what must stay possible to serve from a repository so that the
// tarball of a recipe can be made again: itself, or parts of it.
func (r Recipe) Pins(d digest.Digest, repositoryID string) []Pin {
	var out []Pin
	if r.RepositoryID == repositoryID {
		out = append(out, Pin{Digest: d, RepositoryID: repositoryID, Commit: r.Commit})
	}
	for _, p := range r.Parts {
		out = append(out, p.Recipe.Pins(p.Digest, repositoryID)...)
	}
	return out
}
