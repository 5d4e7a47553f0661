package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/repourl"
	"github.com/axle-cd/axle/internal/vendored"
)

// Kind is the kind of upstream of a repository.
type Kind string

// The kinds. Recipes and rows carry the kind, so that the right kind of agent
// follows and rebuilds each.
const (
	Git    Kind = "git"
	Helm   Kind = "helm"   // an HTTP chart repository with an index.yaml
	OCI    Kind = "oci"    // a registry's repository: charts, or plain manifests
	Bucket Kind = "bucket" // an S3-compatible bucket
)

// AuthKind says which credentials are used for an upstream.
type AuthKind string

// The ways to authenticate.
const (
	AuthNone   AuthKind = ""
	AuthBasic  AuthKind = "basic"  // Username and Password
	AuthToken  AuthKind = "token"  // Password is a token; Username may be empty
	AuthSSH    AuthKind = "ssh"    // PrivateKey, and KnownHosts
	AuthApp    AuthKind = "app"    // a GitHub App: AppID, InstallationID, PrivateKey
	AuthBearer AuthKind = "bearer" // Password is sent as a bearer token
	// Without these fields the hub's own role is used, where
	// Options.HubIdentity allows it.
	AuthAWS   AuthKind = "aws"   // AccessKeyID and SecretAccessKey
	AuthGCP   AuthKind = "gcp"   // ServiceAccountJSON
	AuthAzure AuthKind = "azure" // TenantID, ClientID, ClientSecret
)

// Credentials are the secrets of one repository. They are stored sealed, are
// never listed, and reach git only through pipes and sockets.
type Credentials struct {
	Username   string `json:"username,omitempty"`
	Password   string `json:"password,omitempty"`
	PrivateKey string `json:"privateKey,omitempty"` // PEM
	Passphrase string `json:"passphrase,omitempty"` // of PrivateKey
	KnownHosts string `json:"knownHosts,omitempty"` // lines of known_hosts
	CA         string `json:"ca,omitempty"`         // PEM; empty is the system's

	// ClientCertificate and ClientKey are sent to servers that request them;
	// PEM.
	ClientCertificate string `json:"clientCertificate,omitempty"`
	ClientKey         string `json:"clientKey,omitempty"`
	// ProxyUsername and ProxyPassword are for Options.Proxy.
	ProxyUsername string `json:"proxyUsername,omitempty"`
	ProxyPassword string `json:"proxyPassword,omitempty"`

	// AppID and InstallationID identify a GitHub App; PrivateKey is the App's.
	AppID          string `json:"appId,omitempty"`
	InstallationID string `json:"installationId,omitempty"`

	AccessKeyID     string `json:"accessKeyId,omitempty"`
	SecretAccessKey string `json:"secretAccessKey,omitempty"`
	SessionToken    string `json:"sessionToken,omitempty"`
	// AssumeRoleARN is assumed with the keys, or with the hub's own role.
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

// Repository is one upstream that the hub follows. Only its git agent writes
// the fields from Health on.
type Repository struct {
	ID        string
	Name      string // unique; the name for people
	ProjectID string // empty is the default project
	Kind      Kind
	URL       string // checked; without user or password
	// Written is the URL as people wrote it, for people; empty is URL.
	Written   string
	Auth      AuthKind
	Options   Options
	CreatedAt time.Time
	UpdatedAt time.Time

	// Generation counts changes of URL, auth, options and credentials, so that
	// an agent notices them.
	Generation int64

	// ManagedBy is set when the repository is created; after that only a write
	// that hub/managed allows changes it. Nobody manages what the hub follows for
	// others.
	ManagedBy managed.Manager

	Health Health
}

// Address is the URL for people, as they wrote it.
func (r Repository) Address() string { return cmp.Or(r.Written, r.URL) }

// IsAt reports whether a URL is the repository's, in any spelling.
func (r Repository) IsAt(url string) bool { return repourl.Same(string(r.Kind), r.URL, url) }

// Noun is the repository in a sentence.
func (r Repository) Noun() string { return fmt.Sprintf("repository %q", r.Name) }

// Options are the settings of a repository that are not secret. They are stored
// as JSON; fields may be added but never change their meaning. The zero value
// requests nothing special.
type Options struct {
	// Proxy is the URL of an HTTP, HTTPS or SOCKS5 proxy, without user or
	// password; empty uses the hub's environment.
	Proxy string `json:"proxy,omitempty"`
	// APIURL is the API where a GitHub App gets its tokens; empty is derived
	// from URL.
	APIURL string `json:"apiUrl,omitempty"`
	// Region and Endpoint are those of a bucket or cloud registry.
	Region   string `json:"region,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// PlainHTTP uses http for a registry, where the hub allows it.
	PlainHTTP bool `json:"plainHttp,omitempty"`
	// PassCredentials sends credentials to other hosts that a chart index
	// names.
	PassCredentials bool `json:"passCredentials,omitempty"`
	// HubIdentity lets the repository use the hub's own role in the cloud. Only
	// an administrator may set it, or change a repository that has it.
	HubIdentity bool `json:"hubIdentity,omitempty"`
	// MaxBytes limits the mirror or the kept files on disk; zero is the hub's
	// limit.
	MaxBytes int64 `json:"maxBytes,omitempty"`
	// Moves counts changes of the URL; the store maintains it. Data of the
	// previous upstream is in another folder, so that it is never mistaken for
	// this one's.
	Moves int64 `json:"moves,omitempty"`
	// Internal marks a repository that the hub follows for others, such as a
	// submodule or a chart's dependency; lists leave it out.
	Internal bool   `json:"internal,omitempty"`
	Verify   Verify `json:"verify,omitzero"`
}

// Verify says which signatures are required before a head moves. The zero value
// requires none.
type Verify struct {
	// Mode is "head" or "tag" for Git, "cosign" for OCI, "provenance" for
	// Helm charts; empty verifies nothing.
	Mode string `json:"mode,omitempty"`
	// Keys are trusted public keys: OpenPGP armor, SSH allowed-signers lines,
	// or PEM; each text may hold several.
	Keys []string `json:"keys,omitempty"`
}

// HealthState says whether the last read of the upstream succeeded.
type HealthState string

// The states. A repository that was never read is Unknown.
const (
	Unknown  HealthState = "UNKNOWN"
	Pullable HealthState = "PULLABLE"
	Failed   HealthState = "FAILED"
)

// Health is the state of an upstream, with times.
type Health struct {
	State   HealthState
	Message string // upstream's message when Failed, credentials masked

	CheckedAt   time.Time // last time that upstream's refs were read
	FetchedAt   time.Time // last time that objects were fetched
	FailedSince time.Time // zero unless Failed
	NextAt      time.Time // when upstream is read next, unless a kick comes first
	Bytes       int64     // of the mirror on disk
}

// Source is what services follow. Services that follow the same thing share one
// source. The meaning of the fields depends on the repository's kind:
//
//	git     Ref a branch, tag or full object id; Folder and Files in the tree
//	helm    Ref a version or range, empty is the newest; Folder the chart
//	oci     Ref a tag, range or digest; Folder the path inside
//	bucket  Ref empty; Folder the prefix
//
// Create it with NewSource, or call Settle.
type Source struct {
	ID           string
	RepositoryID string
	Ref          string   // of Git: refs/... is exact
	Folder       string   // clean, without slashes around; empty is the root
	Files        []string // further files and folders, from the root; sorted
	Options      SourceOptions
}

// SourceOptions change the content of a source. They are stored as JSON.
type SourceOptions struct {
	// Submodules puts the content of submodules at their paths.
	Submodules bool `json:"submodules,omitempty"`
	// LFS replaces LFS pointers with their files.
	LFS bool `json:"lfs,omitempty"`
	// Bare leaves out files of other servers: it is the content as stored, for
	// a source that is a part of another.
	Bare bool `json:"bare,omitempty"`
}

// NewSource returns the settled source of a Git repository, without options.
func NewSource(repositoryID, ref, folder string, files []string) (Source, error) {
	return Source{RepositoryID: repositoryID, Ref: ref, Folder: folder, Files: files}.Settle(Git)
}

// Settle normalises the fields of a source and derives its ID from them: the
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
	// A NUL is in no path, so options cannot collide with file names.
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

// Head is what a source points at now. The fields from Revision to FetchedAt
// describe the last good content and stay when Error is set, so that services
// keep running it.
type Head struct {
	SourceID     string
	RepositoryID string

	// Revision is the commit in which the current content was first seen. A
	// later commit that does not change the content does not change it.
	Revision    string
	Message     string // first line of the commit's message
	Author      string // name and address as the commit has them
	CommittedAt time.Time

	Digest digest.Digest // empty while there is no content
	Size   int64         // of the tarball as stored, in bytes
	// Entry is the source's folder inside the tarball: empty when the tarball
	// starts at the folder, longer when it had to start above it.
	Entry string
	// Key changes when the content may have changed. It is opaque.
	Key string

	Epoch     int64 // lease epoch of the writer
	FetchSeq  int64 // counts fetches of the repository under that epoch
	FetchedAt time.Time

	// Error says why the source in its current state cannot be used: what,
	// where, and what to do. ErrorCode classifies it. Both are empty when there
	// is no error.
	Error      string
	ErrorCode  errcode.Code
	ErrorSince time.Time

	UpdatedAt time.Time
}

// Artifact records how to make the tarball of a digest again.
type Artifact struct {
	Digest    digest.Digest
	Recipe    Recipe
	Size      int64 // stored bytes when it was made
	Files     int
	Bytes     int64 // unpacked
	CreatedAt time.Time
}

// Recipe tells any owner of a repository how to rebuild a tarball. It is stored
// as JSON; fields may be added but never change their meaning.
type Recipe struct {
	Kind         Kind     `json:"kind"`
	RepositoryID string   `json:"repository"`
	Commit       string   `json:"commit"`
	Tree         string   `json:"tree,omitempty"` // of the commit
	Folder       string   `json:"folder,omitempty"`
	Files        []string `json:"files,omitempty"`
	// Options are those of the source that it was made for.
	Options SourceOptions `json:"options,omitzero"`
	// Parts are further sources whose content is placed under a path of this
	// one.
	Parts []Part `json:"parts,omitempty"`
	// Vendored is the map that the tarball carries beside its parts.
	Vendored *vendored.Contents `json:"vendored,omitempty"`
}

// Part is one piece of a tarball with several sources.
type Part struct {
	Path   string `json:"path"`
	Recipe Recipe `json:"recipe"`
	// Digest is that of the part alone.
	Digest digest.Digest `json:"digest,omitempty"`
	// Within is the folder of the part that is used, without the folder itself;
	// empty is all of it.
	Within string `json:"within,omitempty"`
}

// Pin names an artifact that must remain servable: it is in a current spec or
// in a kept revision, or was superseded less than a day ago.
type Pin struct {
	Digest       digest.Digest
	RepositoryID string
	Commit       string
}

// Pins returns what a repository must be able to serve so that the tarball of a
// recipe can be made again: the tarball itself, or parts of it.
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
